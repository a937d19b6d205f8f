"""Images and documents in the form that an endpoint takes.

`fitter` fits all media of a request, `fit_part` one image or document, `overflow` chooses those that are too many.
Files that must be decoded are decoded in a child process (`worker_process` starts it, `worker` runs in it): a hostile
file may need hours or crash its reader.
"""
