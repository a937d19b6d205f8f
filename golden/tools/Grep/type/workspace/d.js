def
