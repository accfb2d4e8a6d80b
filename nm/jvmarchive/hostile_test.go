//go:build unix

package jvmarchive

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sirupsen/logrus"

	"heddle/internal/publicdir"
	"heddle/internal/userfiles"
	"heddle/nm/launch"
)

// hostile is a store of root's, a user, and a Java that does what the user wants.
func hostile(t *testing.T, dump string) (s *Store, user *userfiles.User, dir string) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("it takes root to run programs as somebody else")
	}
	dir = publicdir.New(t, "")
	write(t, dir+"/java/release", "JAVA_VERSION=\"21\"\n")
	write(t, dir+"/java/lib/server/libjvm.so", "")
	write(t, dir+"/java/bin/java", "#!/bin/sh\nfor a; do case \"$a\" in -XX:SharedArchiveFile=*) out=${a#*=};; esac; done\n"+dump+"\n")
	if err := os.Chmod(dir+"/java/bin/java", 0o755); err != nil {
		t.Fatal(err)
	}
	log := logrus.New()
	log.SetOutput(io.Discard)
	s, err := Open(Config{Dir: dir + "/archives", MaxBytes: 1 << 20, Timeout: time.Minute, Log: logrus.NewEntry(log)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s, &userfiles.User{UID: 65534, GID: 65534}, dir
}

// What a user's JVM leaves in place of an archive is neither followed nor kept, unless it is a file of the user's.
func TestWhatAUserPutsInPlaceOfAnArchive(t *testing.T) {
	for dump, kept := range map[string]bool{
		"ln -s SECRET $out": false, "mkdir $out": false, "mkfifo $out": false, "echo x > $out; ln $out $out.2": false, "true": false, "echo x > $out": true,
		// The folder is the user's, who may swap it as well as what is in it.
		"cd ..; echo x > SECRET": false,
	} {
		s, user, dir := hostile(t, "")
		secret := dir + "/secret"
		write(t, dir+"/java/bin/java", strings.ReplaceAll("#!/bin/sh\nfor a; do case \"$a\" in -XX:SharedArchiveFile=*) out=${a#*=};; esac; done\n"+dump+"\nexit 0\n", "SECRET", secret))
		write(t, secret, "secret")
		p := &plan{c: Container{Owner: user}, java: dir + "/java/bin/java", prog: &program{folder: "u", key: "k"}, cover: &cover{}}
		p.cp.lasting = true
		err := s.make(t.Context(), p, []string{"java/lang/Object"})
		info, serr := os.Lstat(secret)
		if serr != nil || info.Mode() != 0o644 || userfiles.Owner(info) != 0 {
			t.Errorf("%s: the file of root's became %v, %v", dump, info, serr)
		}
		left, gerr := filepath.Glob(dir + "/archives/u/*")
		hidden, herr := filepath.Glob(dir + "/archives/u/.*")
		if gerr != nil || herr != nil || len(hidden) > 0 || (err == nil) != kept || len(left) != map[bool]int{false: 1, true: 2}[kept] {
			t.Errorf("%s: %v; %v %v are left", dump, err, left, hidden)
		}
	}
}

// A class path shows nothing of folders that the container's user can't look into, nor holds a pipe anybody up.
func TestClassPathsAreLookedAtAsTheUser(t *testing.T) {
	s, user, dir := hostile(t, "")
	for _, folder := range []string{"/open", "/private"} {
		if err := os.Mkdir(dir+folder, 0o755); err != nil {
			t.Fatal(err)
		}
		writeJar(t, dir+folder+"/known.jar", map[string]string{"a": "b"})
	}
	if err := os.Chmod(dir+"/private", 0o700); err != nil {
		t.Fatal(err)
	}
	jars := func(path string, owner *userfiles.User) (int, error) {
		script := &launch.Script{Env: []launch.Var{{Name: "JAVA_HOME", Value: dir + "/java"}, {Name: "CLASSPATH", Value: path}}}
		cmd, ok := parseCommand("$JAVA_HOME/bin/java org.example.Main")
		if !ok {
			t.Fatal("not a command")
		}
		p, err := s.plan(script, Container{ID: "c", User: "u", Owner: owner, Work: dir + "/work"}, cmd, environmentOf(script))
		if err != nil {
			return 0, err
		}
		return len(p.cp.jars), nil
	}
	for path, want := range map[string]int{"/open/*": 1, "/private/*": 0, "/private/known.jar": 0, "/open/known.jar": 1} {
		if n, err := jars(dir+path, user); n != want || (err == nil) != (want > 0) {
			t.Errorf("%s: %d jars, %v", path, n, err)
		}
		if n, err := jars(dir+path, nil); n != 1 || err != nil {
			t.Errorf("%s as root: %d jars, %v", path, n, err)
		}
	}
}
