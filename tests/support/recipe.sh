# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only

# recipe TITLE: its lines, as docs/recipes.md has them.
recipe() {
	sed -n "/^## $1\$/,/^## /s/^    //p" "${top:?}/docs/recipes.md"
}
