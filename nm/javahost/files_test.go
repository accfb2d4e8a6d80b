package javahost

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sirupsen/logrus"

	"heddle/internal/await"
	"heddle/nm/localizer"
	"heddle/yarn/token"
)

// odd returns Files with the file system of testdata/Odd.java, and the processes that they have started.
func odd(t *testing.T) (f *Files, pids func() []int) {
	t.Helper()
	java, classes, hadoop := programs(t)
	log := logrus.New()
	log.SetOutput(io.Discard)
	dir := t.TempDir()
	started := make(chan int, 100)
	f = NewFiles(FilesConfig{Dir: dir, Patience: time.Minute, JVM: func(string) (Config, error) {
		return Config{
			Java: java, JavaVersion: 17, JavaOptions: []string{"-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"}, HeapMB: 64, ClassPath: classes + ":" + hadoop, Dir: dir,
			Properties: []string{"fs.odd.impl", "heddle.test.Odd"}, Env: os.Environ(), Confine: func(pid int) error { started <- pid; return nil }, Sweep: func() {},
			Log: logrus.NewEntry(log),
		}, nil
	}})
	t.Cleanup(f.Close)
	var all []int
	return f, func() []int {
		for {
			select {
			case pid := <-started:
				all = append(all, pid)
			default:
				return all
			}
		}
	}
}

func at(path string) localizer.Location { return localizer.Location{Scheme: "odd", Path: path} }

// Files of a scheme that only Java knows are read as the user with the application's tokens, by one process that ends with the node.
func TestFiles(t *testing.T) {
	f, pids := odd(t)
	dir := t.TempDir()
	data := bytes.Repeat([]byte("0123456789abcdef"), 200000) // more than three chunks
	if err := errors.Join(os.WriteFile(filepath.Join(dir, "a b%41ü"), data, 0o640), os.Mkdir(filepath.Join(dir, "sub"), 0o755), os.WriteFile(filepath.Join(dir, "empty"), nil, 0o644)); err != nil {
		t.Fatal(err)
	}
	c := token.Credentials{Tokens: []token.NamedToken{{Alias: "a", Token: token.Token{Kind: "k", Service: "s"}}}}
	tokens, err := c.Encode(token.FormatWritable)
	if err != nil {
		t.Fatal(err)
	}
	alice := localizer.Reader{User: "alice", Tokens: tokens}
	ctx := t.Context()
	info, err := f.Stat(ctx, alice, at(dir+"/a b%41ü"))
	if err != nil || info.Name != "a b%41ü" || info.Size != int64(len(data)) || info.Mode != 0o640 || time.Since(time.UnixMilli(info.ModTime)) > time.Hour {
		t.Errorf("%+v, %v", info, err)
	}
	if who, err := f.Stat(ctx, alice, at("/whoami")); err != nil || who.Name != "alice" || who.Size != 1 {
		t.Errorf("it reads as %+v, %v", who, err)
	}
	for name, want := range map[string][]byte{"a b%41ü": data, "empty": nil} {
		r, err := f.Open(ctx, alice, at(dir+"/"+name))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: %d bytes, %v", name, len(got), err)
		}
		if err := errors.Join(r.Close(), r.Close()); err != nil {
			t.Error(err)
		}
	}
	all, err := f.List(ctx, alice, at(dir))
	slices.SortFunc(all, func(a, b localizer.Info) int { return strings.Compare(a.Name, b.Name) })
	if err != nil || len(all) != 3 || all[2].Name != "sub" || all[2].Mode != fs.ModeDir|0o755 {
		t.Errorf("%+v, %v", all, err)
	}
	if _, err := f.Stat(ctx, alice, at("/nosuch")); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if _, err := f.Open(ctx, alice, at("/denied")); !errors.Is(err, fs.ErrPermission) {
		t.Error(err)
	}
	if _, err := f.Stat(ctx, alice, localizer.Location{Scheme: "nosuch", Path: "/a"}); err == nil || !strings.Contains(err.Error(), "set fs.nosuch.impl to a class") {
		t.Error(err)
	}
	if n := len(pids()); n != 1 {
		t.Errorf("%d processes", n)
	}
	if who, err := f.Stat(ctx, localizer.Reader{User: "alice", Tokens: tokens, Public: true}, at("/whoami")); err != nil || who.Name != "root" && os.Getuid() == 0 || who.Size != 0 {
		t.Errorf("public files are read as %+v, %v", who, err)
	}
	f.Close()
	if _, err := f.Stat(ctx, alice, at("/whoami")); err == nil {
		t.Error("it reads after its end")
	}
	await.Until(t, "no process is left", func() bool {
		return !slices.ContainsFunc(pids(), func(pid int) bool { return syscall.Kill(pid, 0) == nil })
	})
}

// A file system that hangs, exits or leaks costs its own user one call; other users go on.
func TestOddFiles(t *testing.T) {
	f, pids := odd(t)
	mallory, bob := localizer.Reader{User: "mallory"}, localizer.Reader{User: "bob"}
	var hanging []context.CancelFunc
	over := make(chan error, 10)
	for range 3 { // more than a user may have
		ctx, cancel := context.WithCancel(t.Context())
		hanging = append(hanging, cancel)
		go func() {
			_, err := f.Stat(ctx, mallory, at("/hang"))
			over <- err
		}()
	}
	await.Until(t, "two hang", func() bool { return len(pids()) == maxPerUser })
	if who, err := f.Stat(t.Context(), bob, at("/whoami")); err != nil || who.Name != "bob" {
		t.Errorf("%+v, %v", who, err)
	}
	for _, cancel := range hanging {
		cancel()
	}
	for range hanging {
		if err := <-over; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	}
	for _, order := range []string{"exit", "leak"} {
		if _, err := f.Stat(t.Context(), mallory, at("/"+order)); err == nil {
			t.Errorf("%s has succeeded", order)
		}
	}
	if who, err := f.Stat(t.Context(), mallory, at("/whoami")); err != nil || who.Name != "mallory" {
		t.Errorf("afterwards: %+v, %v", who, err)
	}
}

func FuzzFileList(f *testing.F) {
	var m message
	m.integer(1).text("a").octet(1).number(5).number(6).integer(0o644)
	f.Add(m.b)
	f.Fuzz(func(t *testing.T, b []byte) {
		all, err := decodeList(b)
		if err == nil && fmt.Sprint(len(all)) == "" || len(all) > maxEntries {
			t.Errorf("%d entries, %v", len(all), err)
		}
	})
}
