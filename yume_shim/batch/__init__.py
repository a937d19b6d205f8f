"""Many prompts in one run: `yume-shim batch IN -o OUT`.

task_file     IN -> tasks
out_file      OUT: one line per finished task, kept across interruptions
lanes         how fast requests may be sent, per provider
permits       the requests of one process that wait for their turn
coordinator   hands out tasks and takes results; the only state that workers share
worker        one conversation at a time in a persistent process of this program
run_plan      what a run is made of, and what an engine does
copies        the folders of tasks that work in copies
shim_process  that process: its lines, in flat
local_engine  workers on threads of this process
ray_engine    workers as actors of a Ray cluster; ray_actors is what lives there
progress      what stderr shows meanwhile, and the summary

A worker asks the coordinator for a task, runs it, and reports its row. Both engines run the same worker against the
same coordinator; only where they live differs. The coordinator writes OUT before it counts a task as done, so a run
that was killed goes on with `--resume` where it stopped.
"""
