"""Modules with the interfaces of other packages: change one import to measure with Joule.

    from joule.compat.zeus import ZeusMonitor                # instead of zeus.monitor
    from joule.compat.codecarbon import EmissionsTracker     # instead of codecarbon
"""
