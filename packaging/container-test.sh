#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The container image, run by crun with what compose.yaml and daemonset.yaml give it, with real packets: it filters, each right is
# needed, and no other is. And both files by the schemas of those who read them.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../tests/support/lib.sh"
no_kernel='by_their_schemas'
sandbox "$@"
need python3
files=$top/packaging/container
image=$(ls "$top"/build/container/*.tar 2>/dev/null) || skip_all "no image: make container"
# CAP_BPF and so on, by the file itself.
rights=$(sed -n 's/^    cap_add: \[\(.*\)\]$/\1/p' "$files/compose.yaml" | tr -d ,)

# unpacked: the image's files, at bundle/rootfs.
unpacked() {
	need crun jq
	rm -rf /sys/fs/bpf/xdp-bloom
	mkdir -p bundle/rootfs kept
	python3 - "$image" bundle/rootfs <<-'END' || fail "the image cannot be unpacked"
		import io, json, sys, tarfile
		image = tarfile.open(sys.argv[1])
		blob = lambda digest: image.extractfile("blobs/" + digest.replace(":", "/")).read()
		manifest = json.loads(blob(json.load(image.extractfile("index.json"))["manifests"][0]["digest"]))
		for layer in manifest["layers"]:
		    tarfile.open(fileobj=io.BytesIO(blob(layer["digest"]))).extractall(sys.argv[2])
		config = json.loads(blob(manifest["config"]["digest"]))["config"]
		assert config["Entrypoint"] == ["/usr/sbin/xdp-bloom"] and config["Cmd"] == ["run"], config
	END
	is "$(find bundle/rootfs -type f)" bundle/rootfs/usr/sbin/xdp-bloom "what files are in it"
	mkdir bundle/rootfs/{etc,proc,sys,dev}
	: >bundle/rootfs/etc/xdp-bloom.conf
	[ "$(stat -fc %T /sys/fs/cgroup)" = cgroup2fs ] || mount -t cgroup2 none /sys/fs/cgroup || skip "cannot mount the control groups"
	(cd bundle && crun spec && mv config.json spec.json)
	: >conf
}

# contained RIGHTS ARGS...: the command in the container, with these rights.
contained() {
	local rights=$1 args

	shift
	args=$(printf '%s\n' "$@" | jq -R . | jq -sc .)
	# shellcheck disable=SC2016 # jq's own
	jq --arg rights "$rights" --argjson args "$args" --arg kept "$WORK/kept" --arg conf "$WORK/conf" '
		($rights | split(" ") | map(select(. != "") | "CAP_" + .)) as $caps
		| .process.capabilities = { bounding: $caps, effective: $caps, permitted: $caps }
		| .process.args = ["/usr/sbin/xdp-bloom"] + $args
		| .process.terminal = false | .process.noNewPrivileges = true | .root.readonly = true | del(.process.rlimits)
		| .linux.namespaces |= map(select(.type != "network" and .type != "cgroup"))
		| .mounts |= map(select(.destination | startswith("/sys") | not)) + [
			{ destination: "/sys", type: "none", source: "/sys", options: ["rbind", "ro"] },
			{ destination: "/sys/fs/bpf", type: "none", source: "/sys/fs/bpf", options: ["bind"] },
			{ destination: "/var/lib/xdp-bloom", type: "none", source: $kept, options: ["bind"] },
			{ destination: "/etc/xdp-bloom.conf", type: "none", source: $conf, options: ["bind", "ro"] }]' \
		bundle/spec.json >bundle/config.json || fail "jq"
	crun --root "$WORK/crun" --cgroup-manager disabled run -b bundle "c$BASHPID-$((++started))"
}
started=0

# Those that run.
containers() {
	crun --root "$WORK/crun" list -q
}

no_container() {
	[ -z "$(containers)" ]
}

# with RIGHTS ARGS...: it ends well.
with() {
	expect 0 contained "$@"
}

filters() {
	local line

	unpacked
	veth 0
	a_list
	cp list kept/list
	echo 'load drop /var/lib/xdp-bloom/list' >conf
	with "$rights" doctor edge0
	with "$rights" attach edge0
	contained "$rights" run --listen 127.0.0.1:9617 >run.log 2>&1 &
	ip link set lo up
	wait_until "that it is ready" healthy
	send 0 -b banned -c clean
	# Beside it, as kubectl exec and docker exec do; the service takes it up.
	with "$rights" add 198.51.100.7 --ttl 1h
	echo 198.51.100.7 >>banned
	send 0 -b banned -c clean
	with "$rights" rotate
	send 0 -b banned -c clean
	# It ends, and the kernel filters on; and another takes over.
	crun --root "$WORK/crun" kill "$(containers)" TERM
	wait_until "the end of the service" no_container
	send 0 -b banned -c clean
	with "$rights" del 198.51.100.7
	sed -i '$d' banned
	echo 198.51.100.7 >>clean
	send 0 -b banned -c clean
	with "$rights" detach --all --purge --yes
	let_go edge0
	[ ! -e /sys/fs/bpf/xdp-bloom ] || fail "pins are left"
	is "$(cd kept && ls -A)" list "what is left of the state"
}

unmet() {
	cat run.log
}

healthy() {
	python3 -c 'import urllib.request; urllib.request.urlopen("http://127.0.0.1:9617/healthz")' 2>/dev/null
}

# Each of them taken away, one after the other: then it is refused, in a line that says which.
no_right_too_many() {
	local right others

	unpacked
	veth 0
	a_list
	cp list kept/list
	[ -n "$rights" ] || fail "compose.yaml gives no rights"
	for right in $rights; do
		others=$(echo " $rights " | sed "s/ $right / /; s/^ *//; s/ *$//")
		expect 2 contained "$others" attach edge0
		grep -q "CAP_$right" err || fail "without $right: $(cat err)"
		without_program edge0 || fail "without $right it is attached"
		echo "# without $right: $(cat err)"
	done
	with "$rights" load drop /var/lib/xdp-bloom/list
	with "$rights" attach edge0
	send 0 -b banned -c clean
	with "$rights" detach --all --purge --yes
}

# One set of rights in both files; and each file is what its reader makes of it.
by_their_schemas() {
	/usr/bin/python3 -c "import yaml, kubernetes" 2>/dev/null || skip "needs python3-kubernetes"
	/usr/bin/python3 - "$files" "$rights" "$(sed -n 's/^VERSION := //p' "$top/Makefile")" <<-'END' || fail "the YAML is not right"
		import json, sys, types, yaml
		from kubernetes import client
		folder, rights, version = sys.argv[1], sys.argv[2].split(), sys.argv[3]
		image = "localhost/xdp-bloom:" + version
		compose = yaml.safe_load(open(folder + "/compose.yaml"))["services"]["xdp-bloom"]
		assert compose["cap_drop"] == ["ALL"] and compose["cap_add"] == rights and compose["image"] == image, compose
		api = client.ApiClient()
		known = {"ConfigMap": "V1ConfigMap", "DaemonSet": "V1DaemonSet"}
		for document in yaml.safe_load_all(open(folder + "/daemonset.yaml")):
		    # What the schema does not know is dropped, and what it wants and does not find is refused.
		    made = api.deserialize(types.SimpleNamespace(data=json.dumps(document)), known[document["kind"]])
		    said = api.sanitize_for_serialization(made)
		    assert said == document, f"not of the schema: {document}\n{said}"
		    if document["kind"] == "DaemonSet":
		        spec = document["spec"]["template"]["spec"]
		        container, = spec["containers"]
		        assert container["securityContext"]["capabilities"] == {"drop": ["ALL"], "add": rights}
		        assert container["image"] == image and spec["hostNetwork"]
		        assert {m["name"] for m in container["volumeMounts"]} == {v["name"] for v in spec["volumes"]}
		        assert document["spec"]["selector"]["matchLabels"] == document["spec"]["template"]["metadata"]["labels"]
		        assert container["readinessProbe"]["httpGet"]["path"] == "/healthz"
	END
	! command -v docker-compose >/dev/null || expect 0 docker-compose -f "$files/compose.yaml" config -q
}

run_cases filters no_right_too_many by_their_schemas
