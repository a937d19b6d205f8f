"""Parts of the web tools.

client       one GET, to public addresses only
addresses    which addresses are public
html         HTML to text; html_worker is the process that does it
pages        the cache of fetched pages
"""
