// Package jvmtest finds and makes Java's parts for tests: java, Hadoop's jars, and classes that a test needs.
package jvmtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"heddle/integration/hadooplab"
)

// Options make a JVM of a test start sooner.
var Options = []string{"-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto"}

// Hadoop returns the folder of Hadoop's jars.
func Hadoop(t testing.TB) string {
	t.Helper()
	lib, err := hadooplab.Jars(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return lib
}

// Java returns the path of java.
func Java(t testing.TB) string {
	t.Helper()
	java, err := exec.LookPath("java")
	if err != nil {
		t.Fatal(err)
	}
	return java
}

// Compile compiles Java sources against Hadoop's jars, and returns the folder of the classes.
func Compile(t testing.TB, sources ...string) string {
	t.Helper()
	return CompileWith(t, "", sources...)
}

// CompileWith is Compile against further jars: a class path that goes before Hadoop's; it may be empty.
func CompileWith(t testing.TB, classPath string, sources ...string) string {
	t.Helper()
	out := t.TempDir()
	if err := os.Chmod(out, 0o755); err != nil { // containers' users read them
		t.Fatal(err)
	}
	compile(t, out, classPath, sources)
	return out
}

func compile(t testing.TB, out, classPath string, sources []string) {
	t.Helper()
	if classPath != "" {
		classPath += ":"
	}
	args := append([]string{
		"--release", "8", "-nowarn", "-proc:none", "-d", out, "-cp",
		classPath + filepath.Join(Hadoop(t), "*"),
	}, sources...)
	if said, err := exec.Command("javac", args...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
}

// Once are classes that several tests of a package share.
type Once struct {
	once sync.Once
	dir  string
}

// Compile compiles the sources the first time, and returns the folder of the classes.
func (o *Once) Compile(t testing.TB, sources ...string) string {
	t.Helper()
	o.once.Do(func() {
		dir, err := os.MkdirTemp("", "heddle-classes-")
		if err != nil {
			t.Fatal(err)
		}
		o.dir = dir
		compile(t, dir, "", sources)
	})
	return o.dir
}

// Main runs the tests of a package, and then removes the classes. Call it from TestMain.
func (o *Once) Main(m *testing.M) {
	code := m.Run()
	if o.dir != "" {
		_ = os.RemoveAll(o.dir)
	}
	os.Exit(code)
}
