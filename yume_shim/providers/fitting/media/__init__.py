"""Images and documents in the form that an endpoint takes.

`fitter` fits all media of a request, `fit_part` one image or document, `overflow` chooses those that are too many.
A hostile file may need hours or crash its decoder, so files are decoded in a child process: `worker` runs in it,
`worker_process` starts and ends it, `worker_pool` keeps idle ones.
"""
