def greet(name):
    return "Good day, " + name
