"""Loads the healmcp runtime into this program, then makes way for the program's own `sitecustomize`.

`healmcp run` puts this folder first on PYTHONPATH. Whatever goes wrong here, the program runs on as plain Python.
"""


def _start():
    import os
    import sys

    folder = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry or os.curdir) != folder]
    sys.path_importer_cache.pop(folder, None)
    sys.modules.pop("sitecustomize", None)

    settings = os.environ.get("HEALMCP_SETTINGS")
    if not settings or os.environ.get("HEALMCP") == "0" or "healmcp_runtime" in sys.modules:
        return
    found = "%s %d.%d" % ((sys.implementation.name,) + sys.version_info[:2])
    if sys.implementation.name != "cpython" or sys.version_info < (3, 11):
        sys.stderr.write("healmcp: this process runs unhealed: it needs CPython 3.11 or later and this is %s\n" % found)
        return
    if "t" in sys.abiflags:
        sys.stderr.write("healmcp: this process runs unhealed: free-threaded builds (%st) are not supported\n" % found)
        return
    try:
        from importlib.machinery import ExtensionFileLoader, ModuleSpec

        # The C helper alone: the json package would bring in re, which the program may not need.
        try:
            from _json import scanstring
        except ImportError:
            from json.decoder import scanstring

        key = '"extension":"'
        path = scanstring(settings, settings.index(key) + len(key))[0]
        loader = ExtensionFileLoader("healmcp_runtime", path)
        spec = ModuleSpec("healmcp_runtime", loader, origin=path)
        spec.has_location = True
        runtime = loader.create_module(spec)
        runtime.__spec__, runtime.__loader__, runtime.__file__ = spec, loader, path
        loader.exec_module(runtime)
        sys.modules["healmcp_runtime"] = runtime
        try:
            runtime.start(settings)
        except BaseException:
            sys.modules.pop("healmcp_runtime", None)
            raise
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        text = " ".join(str(error).split())
        sys.stderr.write("healmcp: this process runs unhealed: %s: %s\n" % (type(error).__name__, text))


_start()

# Our own entry is gone from sys.modules and sys.path, so this finds the program's own module or, as in plain Python,
# raises the ImportError that `site` expects.
import sitecustomize  # noqa: E402, F401
