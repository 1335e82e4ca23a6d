"""Compiles operations that users wrote in C++, and loads them. Nothing of our own is compiled."""

from __future__ import annotations

import ctypes
import getpass
import hashlib
import os
import shutil
import subprocess
import tempfile
import types
from collections.abc import Mapping, Sequence
from typing import Any

from returnn.log import log
from returnn.tf.compat import tf
from returnn.util.errors import UserError
from returnn.util.files import rename_durable, temp_path

_FLAGS = ("-shared", "-O2", "-fPIC", "-DNDEBUG=1", "-g")


class OpCodeCompiler:
    """A library of TensorFlow operations, from their source code.

    What was compiled is kept, by a hash over code and options, below ``$RETURNN_CACHE_DIR``, else in a folder of the
    user below the system's one for temporary files. Environment: ``CXX``, ``RETURNN_CACHE_DIR``,
    ``RETURNN_NATIVE_CODE_COMPILER_VERBOSE=1``.
    """

    def __init__(
        self,
        base_name: str,
        *,
        code: str,
        code_version: int | tuple[int, ...] = 1,
        is_cpp: bool = True,
        c_macro_defines: Mapping[str, Any] | None = None,
        ld_flags: Sequence[str] = (),
        include_paths: Sequence[str] = (),
        include_deps: Sequence[str] | None = None,
        use_cuda_if_available: bool = True,
        verbose: bool | None = None,
    ):
        """
        :param base_name: of the files
        :param code: source
        :param code_version: part of the hash
        :param is_cpp: C++, not C
        :param c_macro_defines: name -> value, None for none
        :param ld_flags: for the linker
        :param include_paths: folders
        :param include_deps: files whose content is part of the hash
        :param use_cuda_if_available: compile with nvcc where TensorFlow has CUDA, and nvcc is there
        :param verbose: show what the compiler says
        """
        self.base_name = base_name
        self.code = code
        self._with_cuda = use_cuda_if_available and self.cuda_available()
        self._verbose = verbose
        self._command = [*self._compiler(is_cpp), *_FLAGS, *self._options(c_macro_defines, include_paths, ld_flags)]
        self._hash = self._content_hash(code_version, include_deps or ())
        self._module: types.ModuleType | None = None
        self._library: ctypes.CDLL | None = None

    @classmethod
    def cuda_available(cls) -> bool:
        """
        :return: whether TensorFlow was built for CUDA, a GPU is visible, and there is a compiler for it
        """
        return bool(tf.test.is_built_with_cuda() and tf.config.list_physical_devices("GPU") and shutil.which("nvcc"))

    def _compiler(self, is_cpp: bool) -> list[str]:
        if self._with_cuda:
            return ["nvcc", "-x", "cu", "-DGOOGLE_CUDA=1"]
        return [os.environ.get("CXX", "g++")] if is_cpp else [os.environ.get("CC", "gcc")]

    def _options(
        self, defines: Mapping[str, Any] | None, include_paths: Sequence[str], ld_flags: Sequence[str]
    ) -> list[str]:
        opts = ["-I" + path for path in include_paths]
        opts += [
            "-D%s" % name if value is None else "-D%s=%s" % (name, value)
            for name, value in sorted((defines or {}).items())
        ]
        flags = [*tf.sysconfig.get_compile_flags(), *tf.sysconfig.get_link_flags(), *ld_flags]
        if self._with_cuda:  # which hands on to the compiler of the host what it does not know
            known = ("-I", "-D", "-L", "-l", "-std", "--std")
            flags = [f if f.startswith(known) else "-Xcompiler=" + f for f in flags]
        return opts + flags

    def _content_hash(self, code_version: Any, include_deps: Sequence[str]) -> str:
        parts = [self.code, repr(code_version), repr(self._command), tf.__version__]
        for filename in include_deps:
            with open(filename, encoding="utf8", errors="surrogateescape") as f:
                parts.append(f.read())
        return hashlib.sha256("\0".join(parts).encode("utf8", "surrogateescape")).hexdigest()[:10]

    def _folder(self) -> str:
        root = os.environ.get("RETURNN_CACHE_DIR") or os.path.join(tempfile.gettempdir(), getpass.getuser())
        return os.path.join(root, "returnn_tf_cache", "ops", self.base_name, self._hash)

    def get_lib_filename(self) -> str:
        """
        :return: of the library; compiled if it is not there yet
        :raises UserError: no compiler, or what it says about an error in the code
        """
        filename = os.path.join(self._folder(), self.base_name + ".so")
        if not os.path.exists(filename):
            os.makedirs(self._folder(), exist_ok=True)
            self._compile(filename)
        return filename

    def _compile(self, filename: str) -> None:
        source = filename[: -len(".so")] + ".cc"
        temp = temp_path(filename)
        with open(source, "w", encoding="utf8") as f:
            f.write(self.code)
        # libraries stand behind the code that needs them
        libraries = [arg for arg in self._command if arg.startswith(("-l", "-L"))]
        rest = [arg for arg in self._command if arg not in libraries]
        command = [*rest, source, "-o", temp, *libraries]
        print("OpCodeCompiler call:", " ".join(command), file=log.v4)
        try:
            done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=3600)
        except FileNotFoundError as exc:
            raise UserError(
                "OpCodeCompiler: %r needs the compiler %r, which is not installed here. Install it, or set CXX."
                % (self.base_name, command[0])
            ) from exc
        if self._verbose or os.environ.get("RETURNN_NATIVE_CODE_COMPILER_VERBOSE") == "1":
            print(done.stdout, done.stderr, file=log.v3)
        if done.returncode != 0:
            raise UserError(
                "OpCodeCompiler: %r does not compile (%s):\n%s" % (self.base_name, source, done.stderr.strip()[-3000:])
            )
        rename_durable(temp, filename)  # another process may have done the same: either file is good

    def load_tf_module(self) -> types.ModuleType:
        """
        :return: its operations are functions of this module
        """
        if self._module is None:
            self._module = tf.load_op_library(self.get_lib_filename())
        return self._module

    def load_lib_ctypes(self) -> ctypes.CDLL:
        """
        :return: the library, for its C functions
        """
        if self._library is None:
            self._library = ctypes.CDLL(self.get_lib_filename())
        return self._library
