/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What nearly every terminal does, for a machine that has no terminfo: this, by tic -x, as infocmp -x -Q2 -q writes it.
 *
 *	xdp-bloom|what nearly every terminal does,
 *		am, AX, colors#8, cols#80, lines#24, pairs#64,
 *		bold=\E[1m, civis=\E[?25l, clear=\E[H\E[2J, cnorm=\E[?25h, cr=\r, cub1=^H, cud1=\n, cuf1=\E[C,
 *		cup=\E[%i%p1%d;%p2%dH, cuu1=\E[A, ed=\E[J, el=\E[K, home=\E[H, op=\E[39;49m, rmcup=\E[?1049l,
 *		setab=\E[4%p1%dm, setaf=\E[3%p1%dm, sgr0=\E[m, smcup=\E[?1049h,
 */
#ifndef OBSERVE_TERMINAL_ENTRY_H
#define OBSERVE_TERMINAL_ENTRY_H

#define TERMINAL_NAME "xdp-bloom"
#define TERMINAL_ENTRY                                                                                         \
	"b64:GgEqAAIADwBpAXkAeGRwLWJsb29tfHdoYXQgbmVhcmx5IGV2ZXJ5IHRlcm1pbmFsIGRvZXMAAAFQAP__GAD_____________" \
	"_____________wgAQAD_____AAD_____AgAKAA4A_____xIAIwAlACkAMAD__zIAOQD__z0A__________________9BAEYA____" \
	"______________________9PAFMA________________________________________________________________________" \
	"____________________________________________________________________________________________________" \
	"____________________________________________________________________________________________________" \
	"____________________________________________________________________________________________________" \
	"____________________________________________________________________________________________________" \
	"____________________________________________________________________________________________________" \
	"____________________________________________________________________________________________________" \
	"__________9cAP______________________________________________________________________________________" \
	"____________________________________________________________________________ZQBvAA0AG1tIG1sySgAbW0sA" \
	"G1tKABtbJWklcDElZDslcDIlZEgACgAbW0gAG1s_MjVsAAgAG1s_MjVoABtbQwAbW0EAG1sxbQAbWz8xMDQ5aAAbW20AG1s_MTA0" \
	"OWwAG1szOTs0OW0AG1szJXAxJWRtABtbNCVwMSVkbQAAAQAAAAAAAQADAAEAAABBWAA="

#endif
