one
def f():
    return 1
four
five
six
def g():
    pass
