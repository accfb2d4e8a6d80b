package jobs

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"heddle/conf"
	"heddle/integration/hadooplab"
	"heddle/internal/await"
	"heddle/internal/needs"
)

// startStaging starts a cluster of one node, with so many slots, that stages inputs from an HDFS on a RAM disk of so many MB.
func startStaging(t testing.TB, lab *hadooplab.Lab, slots, size int) *cluster {
	t.Helper()
	set := map[string]string{
		"fs.defaultFS": lab.URI(), "dfs.client.use.datanode.hostname": "true", "yarn.app.mapreduce.am.staging-dir": "/staging",
		"heddle.probes.memory-mb": strconv.Itoa(512 * slots), "heddle.probes.vcores": strconv.Itoa(slots),
		"heddle.nodemanager.staging.enabled": "true", "heddle.nodemanager.staging.size-mb": strconv.Itoa(size),
	}
	// Where there are several NameNodes, clients must know them.
	cfg, err := conf.Load(conf.Options{Dir: lab.Conf()})
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"dfs.nameservices", "dfs.ha.namenodes.lab", "dfs.namenode.rpc-address.lab.nn1", "dfs.namenode.rpc-address.lab.nn2"} {
		if text, ok := cfg.Get(key); ok {
			set[key] = text
		}
	}
	return startCluster(t, 1, 1, set)
}

// Commands whose input lies on HDFS wait for room. Nodes stage what they read meanwhile: each reads its own file, from memory or not, and neither mounts nor files are left.
func TestStagedInputs(t *testing.T) {
	t.Parallel() // most of it waits
	lab := hadooplab.Start(t, hadooplab.Options{DataNodes: 1})
	c := startStaging(t, lab, 1, 16)
	fs := files(t, c.conf)
	var names strings.Builder
	for i := range 20 {
		put(t, fs, fmt.Sprintf("/in/%02d", i), fmt.Sprintf("file %02d\n", i))
		fmt.Fprintf(&names, "/in/%02d\n", i)
	}
	x := c.xargs("--probes", "--stage", "-P20", "-n1", "sh", "-c", `sleep 0.2; if [ -n "$HEDDLE_STAGED_INPUT" ]; then cat "$HEDDLE_STAGED_INPUT"; else echo "not $0"; fi`)
	if _, err := x.in.Write([]byte(names.String())); err != nil {
		t.Fatal(err)
	}
	x.in.Close()
	if code := x.code(); code != 0 {
		t.Fatalf("%d: %s", code, x.stderr)
	}
	out, hits := x.stdout.String(), 0
	for i := range 20 {
		hit := strings.Count(out, fmt.Sprintf("file %02d\n", i))
		if hit+strings.Count(out, fmt.Sprintf("not /in/%02d\n", i)) != 1 {
			t.Errorf("file %d: %s", i, out)
		}
		hits += hit
	}
	if hits == 0 {
		t.Error("no command has had its input in memory")
	}
	// Python's reader reads the same, from memory or by WebHDFS.
	for _, stage := range []string{"--stage", "--nice=0"} {
		x := c.xargs("--probes", stage, "-P20", "-n1", "env", "PYTHONPATH="+must(filepath.Abs("../../python")), "HADOOP_CONF_DIR="+lab.Conf(), needs.Program(t, "python3"), "-B", "-c",
			"import heddle, sys, time; time.sleep(0.2); sys.stdout.write(heddle.open_input(sys.argv[1]).read().decode())")
		if _, err := x.in.Write([]byte("/in/03\n/in/07\n/in/11\n")); err != nil {
			t.Fatal(err)
		}
		x.in.Close()
		if code := x.code(); code != 0 {
			t.Fatalf("%d: %s", code, x.stderr)
		}
		if got := slices.Sorted(slices.Values(lines(x.stdout.String()))); !slices.Equal(got, []string{"file 03", "file 07", "file 11"}) {
			t.Errorf("%s: %q", stage, got)
		}
	}
	t.Run("what has changed since it was copied", func(t *testing.T) { staleCopies(t, c) })
	c.stop()
	b, err := os.ReadFile("/proc/mounts")
	if err != nil || strings.Contains(string(b), filepath.Join(c.dir)) {
		t.Errorf("mounts are left: %v", err)
	}
}

// held are commands whose inputs are staged while one of them has the node's only slot.
type held struct {
	*xargs
	proceed   string
	disturbed bool // xargs may say why commands run again, and also inputs that should be in memory may be read elsewhere
}

// hold starts commands of a user, one for each file, that say what they have read. If first is set, its command takes the slot before others come.
func (c *cluster) hold(user, first string, files ...string) *held {
	c.t.Helper()
	h := c.begin(user, first)
	h.add(files...)
	return h
}

// begin is hold for files that are added once.
func (c *cluster) begin(user, first string) *held {
	c.t.Helper()
	dir := must(os.MkdirTemp(c.dir, "held-"))
	h := &held{proceed: filepath.Join(dir, "go")}
	h.xargs = c.startXargs(user, nil, "--probes", "--stage", "-0", "-P50", "-n1", "sh", "-c",
		`: >`+dir+`/begun; until test -e `+h.proceed+`; do sleep 0.02; done; if [ -n "$HEDDLE_STAGED_INPUT" ]; then s=$(sha256sum <"$HEDDLE_STAGED_INPUT"); else s="not in memory"; fi; printf '%s: %s\n' "$(printf %s "$0" | tr '\n' '?')" "$s"`)
	if first != "" {
		fmt.Fprint(h.in, first, "\x00")
		await.Slowly(c.t, "the first command has the slot", func() bool { _, err := os.Stat(filepath.Join(dir, "begun")); return err == nil })
	}
	return h
}

func (h *held) add(files ...string) {
	h.c.t.Helper()
	if _, err := h.in.Write([]byte(strings.Join(files, "\x00") + "\x00")); err != nil {
		h.c.t.Fatal(err)
	}
	h.in.Close()
}

// staged waits until so many copies are on the RAM disk.
func (c *cluster) staged(n int) {
	c.t.Helper()
	await.Slowly(c.t, fmt.Sprintf("%d files are in memory", n), func() bool {
		copies, err := filepath.Glob(filepath.Join(c.dir, "nm1", "local", "ramdisk", "out", "*"))
		return err == nil && len(copies) == n
	})
}

// sum is what sha256sum says of a text.
func sum(text string) string { return fmt.Sprintf("%x  -", sha256.Sum256([]byte(text))) }

// proceeds lets the commands go on. All succeed; what they have read is in memory if want has its text.
func (h *held) proceeds(want map[string]string) {
	t := h.c.t
	t.Helper()
	if err := os.WriteFile(h.proceed, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if code := h.code(); code != 0 || h.stderr.String() != "" && !h.disturbed {
		t.Errorf("exit code %d: %s", code, h.stderr)
	}
	got := map[string]string{}
	for _, line := range lines(h.stdout.String()) {
		name, text, _ := strings.Cut(line, ": ")
		got[name] = text
	}
	for name, text := range want {
		if text == "" || h.disturbed && got[name] == "not in memory" {
			want[name] = "not in memory"
		} else {
			want[name] = sum(text)
		}
	}
	if !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// Between the copy and its reader a file is replaced, grows, goes, or has another name, and rights are taken away: then the reader doesn't get the copy. Another user gets none either.
func staleCopies(t *testing.T, c *cluster) {
	fs := files(t, c.conf)
	const text = "a text of one length\n"
	names := []string{"/own/first", "/own/same", "/own/replaced", "/own/longer", "/own/gone", "/own/renamed", "/own/closed", "/own/secret"}
	want := map[string]string{}
	for _, name := range names {
		put(t, fs, name, text)
		want[name] = ""
	}
	want["/own/same"], want["/own/secret"] = text, text
	for what, err := range map[string]error{
		"chown": fs.Chown(t.Context(), "/own/secret", "anna", ""), "chmod": fs.Chmod(t.Context(), "/own/secret", 0o400),
	} {
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
	}
	anna := c.hold("anna", names[0], names[1:]...)
	c.staged(len(names) - 1)
	bob := c.hold("bob", "", "/own/secret", "/own/same")
	await.Until(t, "a file has another copy for another user", func() bool {
		copies, err := filepath.Glob(filepath.Join(c.dir, "nm1", "local", "ramdisk", "out", "*"))
		return err == nil && len(copies) == len(names)
	})
	put(t, fs, "/own/other", "a text of that length\n"[:len(text)])
	longer, err := fs.Append(t.Context(), "/own/longer")
	if err != nil {
		t.Fatal(err)
	}
	_, wrote := longer.Write([]byte("more\n"))
	for what, err := range map[string]error{
		"write":  wrote,
		"append": longer.Close(), "replace": fs.Rename(t.Context(), "/own/other", "/own/replaced", true), "remove": fs.Remove(t.Context(), "/own/gone"),
		"rename": fs.Rename(t.Context(), "/own/renamed", "/own/another", false), "chmod": fs.Chmod(t.Context(), "/own/closed", 0o600),
	} {
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
	}
	if err := os.WriteFile(bob.proceed, nil, 0o644); err != nil { // his commands may have the slot next
		t.Fatal(err)
	}
	anna.proceeds(want)
	bob.proceeds(map[string]string{"/own/secret": "", "/own/same": text})
}

// A node is killed while inputs are in its memory, and another one takes its place: each command has one result, and neither mounts, groups, helpers nor files are left. It isn't
// parallel: it looks at all groups of RAM disks.
func TestAKilledNodeLeavesNothingStaged(t *testing.T) {
	lab := hadooplab.Start(t, hadooplab.Options{DataNodes: 1})
	c := startStaging(t, lab, 1, 16)
	fs := files(t, c.conf)
	var names strings.Builder
	for i := range 10 {
		put(t, fs, fmt.Sprintf("/in/%02d", i), fmt.Sprintf("file %02d\n", i))
		fmt.Fprintf(&names, "/in/%02d\n", i)
	}
	x := c.xargs("--probes", "--stage", "-P10", "-n1", "sh", "-c", `until test -e go; do sleep 0.02; done; if [ -n "$HEDDLE_STAGED_INPUT" ]; then cat "$HEDDLE_STAGED_INPUT" >/dev/null || exit 1; fi; echo "$0"`)
	if _, err := x.in.Write([]byte(names.String())); err != nil {
		t.Fatal(err)
	}
	x.in.Close()
	disk := filepath.Join(c.dir, "nm1", "local", "ramdisk")
	await.Until(t, "inputs are in memory", func() bool {
		staged, err := filepath.Glob(filepath.Join(disk, "out", "*"))
		return err == nil && len(staged) > 0
	})
	c.Kill("nm1")
	c.start("nm1")
	if err := os.WriteFile(filepath.Join(c.dir, "go"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if code := x.code(); code != 0 {
		t.Errorf("%d: %s", code, x.stderr)
	}
	for i := range 10 {
		if n := strings.Count(x.stdout.String(), fmt.Sprintf("/in/%02d\n", i)); n != 1 {
			t.Errorf("file %d has %d results", i, n)
		}
	}
	c.stop()
	b, err := os.ReadFile("/proc/mounts")
	if err != nil || strings.Contains(string(b), c.dir) {
		t.Errorf("mounts are left: %v", err)
	}
	if _, err := os.Stat(disk); !os.IsNotExist(err) {
		t.Errorf("files are left: %v", err)
	}
	if g, p := hadooplab.Groups(t, "ramdisk"), processes("stager", c.dir); len(g)+len(p) > 0 {
		t.Errorf("groups %q and helpers %v are left", g, p)
	}
}
