"""Lets Hydra find the user's own options (``--config-dir``) behind the shipped ones, wherever it composes."""

from __future__ import annotations

from hydra.core.config_search_path import ConfigSearchPath
from hydra.plugins.search_path_plugin import SearchPathPlugin

from mate_cli.config.user_folder import user_folder


class UserFolder(SearchPathPlugin):
    def manipulate_search_path(self, search_path: ConfigSearchPath) -> None:
        folder = user_folder()
        if folder is not None:
            search_path.append("user", f"file://{folder}")
