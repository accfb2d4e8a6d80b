package nm

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"heddle/conf/conftest"
	"heddle/internal/publicdir"
	"heddle/nm/javanode"
)

// readable links files that only this test's user can reach to where all users can.
func readable(t *testing.T, files string) string {
	t.Helper()
	dir := publicdir.New(t, "")
	all, err := filepath.Glob(files)
	if err != nil || len(all) == 0 {
		t.Fatal(files, err)
	}
	for _, f := range all {
		to := filepath.Join(dir, filepath.Base(f))
		if os.Link(f, to) == nil {
			continue
		}
		text, err := os.ReadFile(f)
		if err == nil {
			err = os.WriteFile(to, text, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// Where containers run as their users, services run in a JVM of an account of its own, which has their state and no right of root's.
func TestServicesRunAsTheirAccount(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can run processes as other users")
	}
	const account, uid = "daemon", "1" // every Linux has it
	_, set := recorder(t)
	for i, s := range set {
		if key, value, _ := strings.Cut(s, "="); key == pathKey {
			set[i] = pathKey + "=" + readable(t, value+".jar") + "/*"
		}
	}
	dir := publicdir.New(t, "")
	if err := os.Chown(dir, 1, 1); err != nil {
		t.Fatal(err)
	}
	calls := dir + "/calls"
	l := newLab(t, append(set, "recorder.file="+calls, "heddle.nodemanager.java.user="+account,
		"yarn.nodemanager.container-executor.class=org.apache.hadoop.yarn.server.nodemanager.LinuxContainerExecutor")...)
	for dir := l.dir; dir != "/" && dir != os.TempDir(); dir = filepath.Dir(dir) {
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	l.up()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", l.node.aux.Java().Status().PID))
	if err != nil || !strings.Contains(string(status), fmt.Sprintf("\nUid:\t%[1]s\t%[1]s\t%[1]s\t%[1]s\n", uid)) || !strings.Contains(string(status), "CapEff:\t0000000000000000\n") {
		t.Errorf("%s, %v", status, err)
	}
	if text, err := os.ReadFile(calls); err != nil || !strings.Contains(string(text), "getMetaData") {
		t.Errorf("%q, %v", text, err)
	}
}

// The JVM's account is neither root nor one that may run containers, and it must be there.
func TestAccountsOfJVMs(t *testing.T) {
	for account, want := range map[string]string{
		"daemon": "", "bin": "", "root": "it is root", "games": "containers may run as it", "nosuchaccount": "nosuchaccount",
	} {
		u, err := javanode.Account(conftest.With(t, map[string]string{"heddle.nodemanager.java.user": account, "heddle.container.allowed-system-users": "games"}))
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %+v, %v", account, u, err)
		}
	}
}
