#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# timesyncd.sh bus: becomes a system bus on which all is allowed.
# timesyncd.sh which [DIRECTORY]: where systemd-timesyncd is; it may be unpacked below DIRECTORY. Ends with 4 where it is not there.
# timesyncd.sh NAME [DIRECTORY]: becomes it, and asks that server; as nobody, without the right to set the clock.
set -eu

if [ "$1" = bus ]; then
	mkdir -p /run/dbus
	cat >/run/dbus/bus.conf <<-'XML'
		<busconfig>
		  <type>system</type>
		  <listen>unix:path=/run/dbus/system_bus_socket</listen>
		  <policy context="default">
		    <allow user="*"/>
		    <allow own="*"/>
		    <allow send_destination="*"/>
		    <allow receive_sender="*"/>
		  </policy>
		</busconfig>
	XML
	exec dbus-daemon --config-file=/run/dbus/bus.conf --nofork --nopidfile
fi
for daemon in "${2:-}/usr" "${2:-}" /usr ''; do
	daemon=$daemon/lib/systemd/systemd-timesyncd
	[ ! -x "$daemon" ] || break
done
[ -x "$daemon" ] || exit 4
[ "$1" != which ] || { echo "$daemon" && exit; }
mkdir -p /run/systemd/timesync /run/systemd/netif /run/systemd/timesyncd.conf.d
printf '[Time]\nNTP=%s\nFallbackNTP=\n' "$1" >/run/systemd/timesyncd.conf.d/x.conf
printf '%s=%s\n' OPER_STATE routable CARRIER_STATE carrier ONLINE_STATE online >/run/systemd/netif/state
exec setpriv --reuid=65534 --regid=65534 --clear-groups "$daemon"
