package runas

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// settings are a configuration.
type settings struct {
	dir  string
	keys map[string]string
}

func (s settings) Dir() string                 { return s.dir }
func (s settings) IsSet(key string) bool       { _, ok := s.keys[key]; return ok }
func (s settings) Strings(key string) []string { return names(s.keys[key]) }
func (s settings) Int(key string) int          { n, _ := strconv.Atoi(s.keys[key]); return n }

// asShipped is what Hadoop ships.
const asShipped = `yarn.nodemanager.linux-container-executor.group=#configured value of yarn.nodemanager.linux-container-executor.group
banned.users=#comma separated list of users who can not run applications
min.user.id=1000#Prevent other super-users
allowed.system.users=##comma separated list of system users who CAN run applications
feature.tc.enabled=0

# The configs below deal with settings for Docker
#[docker]
#  module.enabled=## enable/disable the module. set to "true" to enable, disabled by default
`

func TestSystemAccountsRunNoContainers(t *testing.T) {
	for name, c := range map[string]struct {
		file string
		keys map[string]string
		may  string // users who may, of those below
	}{
		"nothing is set": {may: "alice nobody"},
		"as shipped":     {file: asShipped, may: "alice nobody"},
		"a file": {
			file: "min.user.id = 500\nbanned.users= alice , hdfs\nallowed.system.users=daemon,root,hdfs\n[docker]\nbanned.users=nobody\nmin.user.id=x\n",
			may:  "bin600 daemon nobody yarn",
		},
		"a key before the file": {
			file: "min.user.id=500\nbanned.users=alice\nallowed.system.users=daemon\n",
			keys: map[string]string{MinKey: "1", BannedKey: "", AllowedKey: ""}, may: "alice bin600 daemon hdfs nobody yarn",
		},
		"the first of two counts": {file: "min.user.id=2000\nmin.user.id=1\n", may: "nobody"},
	} {
		s := settings{keys: c.keys}
		if c.file != "" {
			s.dir = t.TempDir()
			if err := os.WriteFile(filepath.Join(s.dir, File), []byte(c.file), 0o644); err != nil {
				t.Fatal(err)
			}
			if os.Geteuid() != 0 {
				continue // the file has to be root's
			}
		}
		r, _, err := Read(s)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var may []string
		for user, uid := range map[string]int{"root": 0, "toor": 0, "daemon": 1, "bin600": 600, "hdfs": 400, "yarn": 1500, "alice": 1001, "nobody": 65534} {
			if r.Check(user, uid) == nil {
				may = append(may, user)
			}
		}
		slices.Sort(may)
		if got := strings.Join(may, " "); got != c.may {
			t.Errorf("%s: containers run as %s, want %s", name, got, c.may)
		}
	}
}

func TestRefusalsAreInHadoopsWords(t *testing.T) {
	r := Default()
	for want, err := range map[string]error{
		"Running as root is not allowed": r.Check("root", 0),
		"Requested user daemon is not whitelisted and has id 1,which is below the minimum allowed 1000 (min.user.id": r.Check("daemon", 1),
		"Requested user yarn is banned": r.Check("yarn", 1500),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

func TestAFileThatOthersCanWriteTo(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("the file has to be root's")
	}
	path := filepath.Join(t.TempDir(), File)
	if err := os.WriteFile(path, []byte("min.user.id=1\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for want, spoil := range map[string]func() error{
		"must be owned by root":               func() error { return os.Chown(path, 65534, 0) },
		"must not be world or group writable": func() error { return os.Chmod(path, 0o664) },
		"Illegal value of -5 for min.user.id": func() error { return os.WriteFile(path, []byte("min.user.id=-5\n"), 0o644) },
		"line 2: \"x\" is not KEY=VALUE":      func() error { return os.WriteFile(path, []byte("\nx\n"), 0o644) },
	} {
		if err := spoil(); err != nil {
			t.Fatal(err)
		}
		if _, _, err := Read(settings{dir: filepath.Dir(path)}); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), path) {
			t.Errorf("%v, want %s", err, want)
		}
		if err := os.Chown(path, 0, 0); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func TestSettingsOfTheFileWithoutEffect(t *testing.T) {
	r := Default()
	ignored, err := r.parse(strings.NewReader("feature.tc.enabled=1\n[docker]\nmodule.enabled=true\ndocker.allowed.devices=/dev/x\ndocker.allowed.networks=host\nempty=\ndocker.allowed.networks=none\n[gpu]\nmodule.enabled=true\n"))
	if r.Sections["docker"]["module.enabled"] != "true" || r.Sections["docker"]["allowed.networks"] != "host" || len(r.Sections) != 1 {
		t.Errorf("sections %v", r.Sections)
	}
	if want := []string{"feature.tc.enabled", "[docker] docker.allowed.devices", "[gpu] module.enabled"}; err != nil || !slices.Equal(ignored, want) {
		t.Errorf("%q, %v, want %q", ignored, err, want)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(asShipped)
	f.Add("min.user.id=5\nbanned.users=a,b\n[x]\ny=z\n")
	f.Add("=\n")
	f.Fuzz(func(t *testing.T, text string) {
		r := Default()
		if _, err := r.parse(strings.NewReader(text)); err != nil {
			return
		}
		if r.MinUID < 0 || r.Check("root", 0) == nil || r.Check("x", 0) == nil {
			t.Errorf("%+v lets root in", r)
		}
		for _, name := range slices.Concat(r.Banned, r.Allowed) {
			if name == "" || strings.TrimSpace(name) != name || strings.ContainsAny(name, ",#") {
				t.Errorf("%q is no name", name)
			}
		}
		for _, name := range r.Banned {
			if r.Check(name, 1<<30) == nil {
				t.Errorf("%q is banned", name)
			}
		}
	})
}
