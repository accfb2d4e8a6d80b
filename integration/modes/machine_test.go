package modes

import (
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"heddle/internal/await"
	"heddle/internal/publicdir"
)

// Two users with one primary group read each other's logs, launch scripts and tokens on a node. integration/vm runs this on a machine that has the
// users whose names are in the variable.
func TestUsersOfOneGroupOnAMachineOfItsOwn(t *testing.T) {
	users := strings.Fields(os.Getenv("MODES_TEST_USERS"))
	if len(users) == 0 {
		return
	}
	dir := publicdir.New(t, "")
	set := map[string]string{}
	for key, value := range executors["linux"] {
		if key != "heddle.container.allowed-system-users" {
			set[key] = value
		}
	}
	l := start(t, program(t), dir, set)
	home, apps := filepath.Join(l.Dir(), "nodemanager1"), map[string]string{}
	local := resources(t, dir)
	for _, name := range users {
		apps[name] = submit(t, l, name, local).String()
	}
	await.Slowly(t, "the containers' files", func() bool {
		found, err := filepath.Glob(filepath.Join(home, "local/usercache/*/appcache/*/container_*/ready"))
		return err == nil && len(found) == len(users)
	})
	for _, name := range users {
		own := 0
		for _, path := range reachable(t, home, name) {
			for owner, app := range apps {
				switch mine := strings.Contains(path, app) || strings.Contains(path, "/usercache/"+owner+"/"); {
				case mine && owner == name:
					own++
				case mine:
					t.Errorf("%s reaches %s's %s", name, owner, path)
				}
			}
		}
		if own < 5 { // its script, tokens, logs …
			t.Errorf("%s reaches %d files of its own", name, own)
		}
	}
}

// reachable returns the files below a folder that a user can read or write, and the folders that it can list or write to.
func reachable(t *testing.T, home, name string) []string {
	t.Helper()
	u, err := user.Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	find := exec.Command("find", home, "-mindepth", "1", "(", "-type", "f", "-o", "-type", "d", ")", "(", "-readable", "-o", "-writable", ")")
	find.Dir = "/"
	gid := id(t, u.Gid)
	find.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: id(t, u.Uid), Gid: gid, Groups: []uint32{gid}}}
	out, _ := find.Output() // it complains of the folders that it can't enter
	return strings.Split(strings.TrimSpace(string(out)), "\n")
}
