package store

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"
	"pgregory.net/rapid"

	"heddle/internal/await"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv("HOLD_STATE_FOLDER"); dir != "" {
		hold(dir)
	}
	os.Exit(await.NoGoroutines(m.Run()))
}

// hold writes and is then killed by the parent.
func hold(dir string) {
	s, err := Open(dir)
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	if err := s.Bucket("b").Put("key", []byte("value")); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println("held")
	for { // until killed; a blocked select would be noticed as a deadlock
		time.Sleep(time.Hour)
	}
}

func open(t *testing.T, dir string) *Store {
	t.Helper()
	s, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func TestWritesSurviveAKill(t *testing.T) {
	dir := t.TempDir()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "HOLD_STATE_FOLDER="+dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	line := make([]byte, 200)
	if n, err := out.Read(line); err != nil || string(line[:n]) != "held\n" {
		t.Fatalf("%q, %v", line[:n], err)
	}
	_, err = Open(dir)
	if !errors.Is(err, ErrInUse) || !strings.Contains(err.Error(), fmt.Sprint("process ", cmd.Process.Pid)) || !strings.Contains(err.Error(), dir) {
		t.Errorf("a second NodeManager: %v", err)
	}
	cmd.Process.Kill()
	cmd.Wait()
	if v, err := open(t, dir).Bucket("b").Get("key"); err != nil || string(v) != "value" {
		t.Errorf("after the kill: %q, %v", v, err)
	}
}

func TestDamagedFiles(t *testing.T) {
	fill := func(t *testing.T, dir string) {
		s := open(t, dir)
		for i := range 200 {
			if err := s.Bucket("b").Put(fmt.Sprint(i), bytes.Repeat([]byte("x"), 1000)); err != nil {
				t.Fatal(err)
			}
		}
		s.Close()
	}
	for name, spoil := range map[string]func(b []byte) []byte{
		"text":         func([]byte) []byte { return bytes.Repeat([]byte("hello "), 5000) },
		"short":        func(b []byte) []byte { return b[:100] },
		"truncated":    func(b []byte) []byte { return b[:len(b)/8*3] },
		"wiped middle": func(b []byte) []byte { clear(b[3*4096 : len(b)*9/10]); return b },
		"wiped head":   func(b []byte) []byte { clear(b[:2*4096]); return b },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			fill(t, dir)
			file := filepath.Join(dir, fileName)
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, spoil(b), 0o600); err != nil {
				t.Fatal(err)
			}
			s, err := Open(dir)
			if err == nil {
				s.Close()
				t.Fatal("it was opened")
			}
			if !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), file) {
				t.Errorf("the error doesn't help: %v", err)
			}
		})
	}
}

func TestAnotherFormatIsRefused(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	if err := s.Bucket("meta").Put("format", []byte("heddle-nodemanager-2")); err != nil {
		t.Fatal(err)
	}
	s.Close()
	if _, err := Open(dir); err == nil || !strings.Contains(err.Error(), "heddle-nodemanager-2") {
		t.Errorf("got %v", err)
	}
}

func TestBucketsRemember(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	model := make(map[string]string)
	rapid.Check(t, func(t *rapid.T) {
		b := s.Bucket("b")
		key := rapid.StringMatching(`[a-e]`).Draw(t, "key")
		switch rapid.IntRange(0, 3).Draw(t, "op") {
		case 0, 1:
			value := rapid.String().Draw(t, "value")
			if err := b.Put(key, []byte(value)); err != nil {
				t.Fatal(err)
			}
			model[key] = value
		case 2:
			if err := errors.Join(b.Delete(key), b.Delete("not there")); err != nil {
				t.Fatal(err)
			}
			delete(model, key)
		case 3:
			s.Close()
			again, err := Open(dir)
			if err != nil {
				t.Fatal(err)
			}
			s = again
		}
		got := make(map[string]string)
		if err := s.Bucket("b").ForEach("", func(k string, v []byte) error { got[k] = string(v); return nil }); err != nil {
			t.Fatal(err)
		}
		if fmt.Sprint(got) != fmt.Sprint(model) {
			t.Fatalf("have %v, want %v", got, model)
		}
		if v, err := s.Bucket("b").Get(key); err != nil || string(v) != model[key] {
			t.Fatalf("%s is %q, %v", key, v, err)
		}
	})
	s.Close()
}

func TestAFailingWriteHurtsNoOther(t *testing.T) {
	s := open(t, t.TempDir())
	bad := errors.New("bad")
	var wg sync.WaitGroup
	for i := range 200 {
		wg.Go(func() {
			if i%10 == 0 {
				if err := <-s.begin(func(*bolt.Tx) error { return bad }, func(err error) error { return err }); !errors.Is(err, bad) {
					t.Errorf("write %d: %v", i, err)
				}
				return
			}
			if err := s.Bucket("b").Put(fmt.Sprint(i), []byte("x")); err != nil {
				t.Errorf("write %d: %v", i, err)
			}
		})
	}
	wg.Wait()
	n := 0
	if err := s.Bucket("b").ForEach("", func(string, []byte) error { n++; return nil }); err != nil || n != 180 {
		t.Errorf("%d keys, %v", n, err)
	}
}

func TestJSON(t *testing.T) {
	s := open(t, t.TempDir())
	b := s.Bucket("j")
	var out struct{ A int }
	if found, err := b.GetJSON("k", &out); found || err != nil {
		t.Errorf("%v, %v", found, err)
	}
	if err := b.PutJSON("k", struct{ A int }{7}); err != nil {
		t.Fatal(err)
	}
	if found, err := b.GetJSON("k", &out); !found || err != nil || out.A != 7 {
		t.Errorf("%+v, %v, %v", out, found, err)
	}
	if err := b.Put("k", []byte("no json")); err != nil {
		t.Fatal(err)
	}
	if _, err := b.GetJSON("k", &out); err == nil || !strings.Contains(err.Error(), "j/k") {
		t.Errorf("got %v", err)
	}
}

func TestPrefixes(t *testing.T) {
	b := open(t, t.TempDir()).Bucket("b")
	for _, key := range []string{"a", "a/1", "a/2", "a0", "b/1"} {
		if err := b.Put(key, nil); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	stop := errors.New("stop")
	err := b.ForEach("a/", func(key string, _ []byte) error {
		got = append(got, key)
		return b.Delete(key) // writing meanwhile is allowed
	})
	if err != nil || fmt.Sprint(got) != "[a/1 a/2]" {
		t.Errorf("%q, %v", got, err)
	}
	if err := b.ForEach("", func(string, []byte) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("got %v", err)
	}
}

func TestUseAfterClose(t *testing.T) {
	s := open(t, t.TempDir())
	s.Close()
	if err := s.Bucket("b").Put("k", nil); err == nil {
		t.Error("written")
	}
	if _, err := s.Bucket("b").Get("k"); err == nil {
		t.Error("read")
	}
	if err := s.Remove(); err != nil {
		t.Fatal(err)
	}
	if left, _ := os.ReadDir(s.Dir()); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

func BenchmarkPutParallel(b *testing.B) {
	s, err := Open(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	b.SetParallelism(16)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if err := s.Bucket("b").Put("k", []byte("v")); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// Whoever begins a write goes on at once, however long the disk takes, and writes reach it in the order in which they came.
func TestBegunWritesWaitForNobody(t *testing.T) {
	s := open(t, t.TempDir())
	b := s.Bucket("b")
	release := s.Hold()
	var last <-chan error
	for i := range 100 {
		last = b.Begin("key", []byte{byte(i)})
		if i%10 == 5 {
			last = b.BeginDelete("key")
		}
	}
	await.Until(t, "a write that waits", func() bool { return s.Waiting() > 0 })
	select {
	case err := <-last:
		t.Fatalf("the write is over: %v", err)
	default:
	}
	release()
	if err := <-last; err != nil {
		t.Fatal(err)
	}
	if v, err := b.Get("key"); err != nil || !bytes.Equal(v, []byte{99}) {
		t.Errorf("the last value is %v, %v", v, err)
	}
	await.Until(t, "idleness", func() bool { return s.Waiting() == 0 })
}
