package jvmarchive

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"heddle/nm/disks"
)

// retryAfter is how long nothing is tried again for a program whose archive could not be made.
const retryAfter = 10 * time.Minute

// maxTasks bounds what waits for being built; what is refused is asked for by later containers.
const maxTasks = 1000

// add has something done in the background, one after the other.
func (s *Store) add(task func(context.Context)) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.tasks) >= maxTasks {
		return false
	}
	s.tasks = append(s.tasks, task)
	select {
	case s.work <- struct{}{}:
	default:
	}
	return true
}

// build does what was added, until the store is closed.
func (s *Store) build() {
	defer close(s.done)
	for {
		s.mu.Lock()
		var task func(context.Context)
		if len(s.tasks) > 0 {
			task, s.tasks = s.tasks[0], s.tasks[1:]
		}
		s.mu.Unlock()
		if task != nil && s.ctx.Err() == nil {
			task(s.ctx)
			continue
		}
		select {
		case <-s.work:
		case <-s.ctx.Done():
			return
		}
	}
}

// order has the archive for a container made, after classes were added to the program's list.
func (s *Store) order(p *plan, classes []string) {
	s.mu.Lock()
	busy := classes == nil && (p.prog.building || time.Since(p.prog.failed) < retryAfter && !p.prog.failed.IsZero())
	if !busy && classes == nil {
		p.prog.building = true
	}
	s.mu.Unlock()
	if busy {
		return
	}
	added := s.add(func(ctx context.Context) {
		err := s.make(ctx, p, classes)
		s.mu.Lock()
		defer s.mu.Unlock()
		if classes == nil {
			p.prog.building = false
		}
		if err != nil && ctx.Err() == nil {
			p.prog.failed = time.Now()
			s.cfg.Log.WithError(err).WithField("class", p.cmd.main).Warn("An archive of Java classes could not be made; programs start without it")
		}
	})
	if !added && classes == nil {
		s.mu.Lock()
		p.prog.building = false
		s.mu.Unlock()
	}
}

// make adds to the list of classes and makes the archive, if there is none or the list has grown by much.
func (s *Store) make(ctx context.Context, p *plan, classes []string) error {
	if err := s.userFolder(p); err != nil {
		return err
	}
	all, fresh, err := mergeClasses(p.prog.list(), classes)
	if err != nil || all == 0 {
		return err
	}
	s.mu.Lock()
	again := p.prog.again
	failed := !p.prog.failed.IsZero() && time.Since(p.prog.failed) < retryAfter
	s.mu.Unlock()
	if p.cover == nil || failed || !p.cp.lasting && !again {
		return nil
	}
	archive := p.prog.archive(p.cover.hash())
	if _, err := os.Stat(archive); err == nil && fresh < max(50, all/50) {
		return nil
	}
	if free, err := disks.Free(s.cfg.Dir); err == nil && free.Free < s.cfg.MinFree {
		return fmt.Errorf("%s: only %d MB are free on its disk", s.cfg.Dir, free.Free>>20)
	}
	cover, err := s.writeCover(p)
	if err != nil {
		return err
	}
	began := time.Now()
	if err := s.dump(ctx, p, cover, archive); err != nil {
		return err
	}
	s.evict(archive, cover, p.prog.list())
	s.cfg.Log.Infof("Made an archive of %d Java classes for %s in %.1f s", all, p.cmd.main, time.Since(began).Seconds())
	return nil
}

// userFolder makes the folder of a user's archives. The user can pass through it, but neither list nor change it.
func (s *Store) userFolder(p *plan) error {
	if err := os.Mkdir(p.prog.folder, 0o700); err != nil && !os.IsExist(err) {
		return err
	}
	if p.c.Owner == nil {
		return nil
	}
	if err := os.Chown(p.prog.folder, -1, p.c.Owner.GID); err != nil {
		return err
	}
	return os.Chmod(p.prog.folder, 0o710)
}

// give hands a file of the store's to the container's user, for reading.
func give(path string, p *plan) error {
	if p.c.Owner != nil {
		if err := os.Lchown(path, p.c.Owner.UID, p.c.Owner.GID); err != nil {
			return err
		}
	}
	return os.Chmod(path, 0o400)
}

// writeCover writes the jar that goes before all others, if there has to be one, and returns its path.
func (s *Store) writeCover(p *plan) (string, error) {
	path := p.prog.cover(p.cover.hash())
	if path == "" {
		return "", nil
	}
	if exists(path) { // and stays: archives are bound to the time of its last change
		return path, nil
	}
	b, err := p.cover.jar()
	if err != nil {
		return "", err
	}
	tmp := path + ".new"
	os.Remove(tmp)
	if err := os.WriteFile(tmp, b, 0o600); err != nil {
		return "", err
	}
	if err := give(tmp, p); err != nil {
		return "", err
	}
	return path, os.Rename(tmp, path)
}

// dump has a JVM make an archive. It loads classes but runs nothing of them; it does so as the container's user, at a
// low priority, and ends with this process.
func (s *Store) dump(ctx context.Context, p *plan, cover, archive string) error {
	dir, err := os.MkdirTemp(p.prog.folder, buildPrefix)
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	list, out := filepath.Join(dir, "classes"), filepath.Join(dir, "archive.jsa")
	b, err := os.ReadFile(p.prog.list())
	if err == nil {
		err = os.WriteFile(list, b, 0o444)
	}
	if err != nil {
		return err
	}
	var credential *syscall.Credential
	if o := p.c.Owner; o != nil {
		if err := os.Chown(dir, o.UID, o.GID); err != nil {
			return err
		}
		credential = &syscall.Credential{Uid: uint32(o.UID), Gid: uint32(o.GID)}
		for _, g := range o.Groups {
			credential.Groups = append(credential.Groups, uint32(g))
		}
	}
	ctx, cancel := context.WithTimeout(ctx, s.cfg.Timeout)
	defer cancel()
	args := []string{"-Xshare:dump", "-XX:SharedClassListFile=" + list, "-XX:SharedArchiveFile=" + out, "-Xmx1g", "-XX:+UseG1GC", "-XX:TieredStopAtLevel=1"}
	args = append(args, layout(p.cmd.options)...)
	args = append(args, "-cp", strings.Join(p.cp.prefix(cover), ":"))
	cmd := exec.CommandContext(ctx, p.java, args...)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=/usr/bin:/bin"}
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	cmd.WaitDelay = time.Second
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: credential, Setpgid: true}
	if err := s.runLow(cmd); err != nil {
		text := said.Bytes()
		return fmt.Errorf("%s -Xshare:dump: %w: %s", p.java, err, bytes.TrimSpace(text[max(0, len(text)-500):]))
	}
	st, err := os.Lstat(out)
	if err != nil {
		return err
	}
	if !st.Mode().IsRegular() || st.Size() > s.cfg.MaxBytes {
		return fmt.Errorf("an archive of %d MB is none to keep", st.Size()>>20)
	}
	if err := give(out, p); err != nil {
		return err
	}
	return os.Rename(out, archive)
}

// buildPrefix begins the names of folders in which archives are made.
const buildPrefix = ".build-"

// runLow runs a command at a low priority. A thread's priority is its children's; it is ended afterwards, which also is the
// moment when the kernel would end a child that outlived it.
func (s *Store) runLow(cmd *exec.Cmd) error {
	result := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread goes with the goroutine
		yieldTo(cmd.SysProcAttr, s.cfg.Nice)
		result <- cmd.Run()
	}()
	return <-result
}

// sweep removes what an earlier process left unfinished.
func (s *Store) sweep() {
	for _, pattern := range []string{buildPrefix + "*", "*.new"} {
		left, err := filepath.Glob(filepath.Join(s.cfg.Dir, "*", pattern))
		if err != nil {
			continue
		}
		for _, l := range left {
			os.RemoveAll(l)
		}
	}
}

// evict removes what was not used for the longest time until the rest is small enough, but not what is to be kept.
func (s *Store) evict(keep ...string) {
	type file struct {
		path string
		size int64
		used time.Time
	}
	var files []file
	var total int64
	err := filepath.WalkDir(s.cfg.Dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return nil
		}
		if st, err := d.Info(); err == nil {
			used := st.ModTime()
			if strings.HasSuffix(path, ".jar") {
				used = used.AddDate(100, 0, 0) // the small ones last: without them archives are of no use
			}
			files = append(files, file{path, st.Size(), used})
			total += st.Size()
		}
		return nil
	})
	if err != nil {
		return
	}
	slices.SortFunc(files, func(a, b file) int { return a.used.Compare(b.used) })
	for _, f := range files {
		if total <= s.cfg.MaxBytes {
			return
		}
		if !slices.Contains(keep, f.path) && os.Remove(f.path) == nil {
			total -= f.size
		}
	}
}
