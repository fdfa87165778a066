"""Our own checks whose row and function stand together (:func:`turncheck.validation.checks.check`).

Every module here is read by :mod:`turncheck.validation.catalogue`; a new check needs no line anywhere else.
"""
