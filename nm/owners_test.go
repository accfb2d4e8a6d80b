package nm

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"heddle/conf"
	"heddle/nm/runas"
)

func configured(t *testing.T, dir string, set ...string) *conf.Config {
	t.Helper()
	c, err := conf.Load(conf.Options{Dir: dir, Overrides: set})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// A folder that was written for a NodeManager with an account of its own made everybody's containers root's.
func TestRootRunsNobodysContainersWithAFolderForYARN(t *testing.T) {
	t.Setenv("HADOOP_CONF_DIR", "")
	folder := t.TempDir()
	const admitted = asRoot + "=true"
	for name, c := range map[string]struct {
		dir  string
		uid  int
		set  []string
		fail bool
		note bool
	}{
		"root":                    {dir: folder, fail: true},
		"an account of its own":   {dir: folder, uid: 902},
		"root, admitted":          {dir: folder, set: []string{admitted}, note: true},
		"an account, admitted":    {dir: folder, uid: 902, set: []string{admitted}},
		"root, without a folder":  {},
		"root, refused by a word": {dir: folder, set: []string{asRoot + "=false"}, fail: true},
	} {
		note, err := checkRoot(configured(t, c.dir, c.set...), c.uid)
		if (err != nil) != c.fail || (note != "") != c.note {
			t.Errorf("%s: %q, %v", name, note, err)
		}
		if err == nil {
			continue
		}
		for _, word := range []string{"DefaultContainerExecutor", "such as yarn (User=", "LinuxContainerExecutor", "limit-users", asRoot} {
			if !strings.Contains(err.Error(), word) {
				t.Errorf("%s: %v, without %q", name, err, word)
			}
		}
	}
	if os.Geteuid() == 0 {
		if _, err := readSettings(configured(t, folder)); err == nil || !strings.Contains(err.Error(), asRoot) {
			t.Errorf("a NodeManager starts: %v", err)
		}
	}
}

type fakeGroups map[string]int

func (g fakeGroups) Group(name string) (int, error) {
	if gid, ok := g[name]; ok {
		return gid, nil
	}
	return 0, errors.New("no such group")
}

// The group that may read users' logs is the one that Hadoop's container-executor takes.
func TestTheGroupOfUsersFolders(t *testing.T) {
	t.Setenv("HADOOP_CONF_DIR", "")
	const key = "yarn.nodemanager.linux-container-executor.group"
	machine := fakeGroups{"hadoop": 1500, "yarn": 1501}
	for name, c := range map[string]struct {
		file string
		set  []string
		want int // -1: an error
	}{
		"neither":                   {want: os.Getegid()},
		"yarn-site.xml":             {set: []string{key + "=hadoop"}, want: 1500},
		"container-executor.cfg":    {file: "yarn", want: 1501},
		"both":                      {file: "yarn", set: []string{key + "=hadoop"}, want: 1501},
		"a group that there isn't":  {set: []string{key + "=nosuch"}, want: -1},
		"one that the file invents": {file: "nosuch", want: -1},
	} {
		gid, err := sharedGroup(configured(t, "", c.set...), runas.Rules{Group: c.file}, machine)
		if c.want < 0 {
			if err == nil || !strings.Contains(err.Error(), key) || !strings.Contains(err.Error(), "nosuch") {
				t.Errorf("%s: %d, %v", name, gid, err)
			}
		} else if err != nil || gid != c.want {
			t.Errorf("%s: %d, %v, want %d", name, gid, err, c.want)
		}
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, runas.File), []byte(key+"=hadoop\n"), 0o400); err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() == 0 {
		if r, ignored, err := runas.Read(configured(t, dir)); err != nil || r.Group != "hadoop" || len(ignored) > 0 {
			t.Errorf("%+v, %q, %v", r, ignored, err)
		}
	}
}

// yarn.nodemanager.default-container-executor.log-dirs.permissions had no effect.
func TestModesOfLogFoldersAreSet(t *testing.T) {
	t.Setenv("HADOOP_CONF_DIR", "")
	const key = "yarn.nodemanager.default-container-executor.log-dirs.permissions"
	for text, want := range map[string]fs.FileMode{"": 0o710, "750": 0o750, "0755": 0o755, "x": 0, "1777": 0, "070": 0} {
		var set []string
		if text != "" {
			set = []string{key + "=" + text}
		}
		mode, err := logMode(configured(t, "", set...))
		if mode != want || (err == nil) != (want != 0) {
			t.Errorf("%q: %v, %v", text, mode, err)
		}
	}
}
