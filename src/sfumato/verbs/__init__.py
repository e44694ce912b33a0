"""What sfumato does, one file a verb: flat keywords in, an object with the result out.

The package exports every verb (``sfumato.privatize``, ``sfumato.train``, …), and the command line
calls the same functions: nothing can be done from one and not from the other.
"""
