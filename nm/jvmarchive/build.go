package jvmarchive

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"heddle/internal/bounded"
	"heddle/internal/userfiles"
	"heddle/nm/disks"
	"heddle/nm/proc"
)

// retryAfter is how long to wait after an archive could not be made before the program gets another try.
const retryAfter = 10 * time.Minute

// maxTasks bounds the waiting tasks. Later containers ask again for a refused one.
const maxTasks = 1000

// add queues a task for the background. It returns false if the queue is full or closed.
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

// build runs queued tasks one after the other until the store is closed.
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

// arrange queues the making of a container's archive, after adding classes to the program's list.
func (s *Store) arrange(p *plan, classes []string) {
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
			s.cfg.Log.WithError(err).WithField("class", p.cmd.main).Warn("could not make an archive of Java classes; programs start without it")
		}
	})
	if !added && classes == nil {
		s.mu.Lock()
		p.prog.building = false
		s.mu.Unlock()
	}
}

// make adds to the list of classes. It makes the archive if there is none, or if the list has grown by much.
func (s *Store) make(ctx context.Context, p *plan, classes []string) error {
	folder, err := s.userFolder(p)
	if err != nil {
		return err
	}
	defer folder.Close()
	all, fresh, err := mergeClasses(folder, p.prog.list(), classes)
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
	if _, err := folder.Stat(archive); err == nil && fresh < max(50, all/50) {
		return nil
	}
	if free, err := disks.Free(s.cfg.Dir); err == nil && free.Free < s.cfg.MinFree {
		return fmt.Errorf("%s: only %d MB are free on its disk", s.cfg.Dir, free.Free>>20)
	}
	cover, err := writeCover(folder, p)
	if err != nil {
		return err
	}
	began := time.Now()
	if err := s.dump(ctx, folder, p, cover, archive); err != nil {
		return err
	}
	s.evict(p.prog.folder, archive, cover, p.prog.list())
	s.cfg.Log.Infof("made an archive of %d Java classes for %s in %.1f s", all, p.cmd.main, time.Since(began).Seconds())
	return nil
}

// userFolder makes the folder of a user's archives. The user can pass through it, but can neither list nor change it.
func (s *Store) userFolder(p *plan) (*userfiles.Dir, error) {
	d, err := userfiles.OpenDir(s.cfg.Dir)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	mode := fs.FileMode(0o700)
	if p.c.Owner != nil {
		mode = 0o710
	}
	return d.Make(p.prog.folder, p.c.Owner.Pass(mode))
}

// writeCover writes the jar that precedes all others, if one is needed, and returns its name.
func writeCover(folder *userfiles.Dir, p *plan) (string, error) {
	name := p.prog.cover(p.cover.hash())
	if name == "" {
		return "", nil
	}
	if _, err := folder.Stat(name); err == nil { // don't replace it: archives depend on its modification time
		return name, nil
	}
	b, err := p.cover.jar()
	if err != nil {
		return "", err
	}
	return name, replace(folder, name, b, p.c.Owner.Want(0o400))
}

// Names in the folder where an archive is made.
const (
	classesName = "classes"
	archiveName = "archive.jsa"
)

// dump makes an archive with a JVM, which loads classes but runs none of their code. The JVM runs as the container's
// user, at a low priority, and ends with this process. Its folder belongs to the user, who may put anything into it.
func (s *Store) dump(ctx context.Context, folder *userfiles.Dir, p *plan, cover, archive string) error {
	name := buildPrefix + rand.Text()
	dir, err := folder.New(name)
	if err != nil {
		return err
	}
	defer func() {
		dir.Close()
		if err := folder.RemoveAll(name); err != nil {
			s.cfg.Log.WithError(err).Warn("could not remove the files from which an archive of Java classes was made")
		}
	}()
	b, err := readAll(folder, p.prog.list())
	if err != nil {
		return err
	}
	if err := dir.Write(classesName, b, (*userfiles.User)(nil).Want(0o444)); err != nil {
		return err
	}
	if err := dir.Set(p.c.Owner.Want(0o700)); err != nil {
		return err
	}
	if err := s.runDump(ctx, dir.Name(), folder.Name(), p, cover); err != nil {
		return err
	}
	return dir.Take(archiveName, p.c.Owner.ID(), s.cfg.MaxBytes, folder, archive, 0o400)
}

// runDump runs the JVM in the folder dir.
func (s *Store) runDump(ctx context.Context, dir, folder string, p *plan, cover string) error {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.Timeout)
	defer cancel()
	if cover != "" {
		cover = filepath.Join(folder, cover)
	}
	args := []string{
		"-Xshare:dump", "-XX:SharedClassListFile=" + filepath.Join(dir, classesName),
		"-XX:SharedArchiveFile=" + filepath.Join(dir, archiveName),
		"-Xmx1g", "-XX:+UseG1GC", "-XX:TieredStopAtLevel=1",
	}
	args = append(args, layout(p.cmd.options)...)
	args = append(args, "-cp", strings.Join(p.cp.prefix(cover), ":"))
	cmd := exec.CommandContext(ctx, p.java, args...)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=/usr/bin:/bin"}
	said := bounded.NewTail(500) // the user chooses the program
	cmd.Stdout, cmd.Stderr = said, said
	cmd.WaitDelay = time.Second
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: p.c.Owner.Credential(), Setpgid: true}
	if err := s.runLow(cmd); err != nil {
		return fmt.Errorf("%s -Xshare:dump: %w: %s", p.java, err, bytes.TrimSpace(said.Bytes()))
	}
	return nil
}

// buildPrefix is the prefix of folders in which archives are made.
const buildPrefix = ".build-"

// runLow runs a command at a low priority. A child inherits its thread's priority. The thread ends afterwards, and with
// it any child that outlived the command.
func (s *Store) runLow(cmd *exec.Cmd) error {
	result := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked, so that the thread ends with the goroutine
		yieldTo(cmd.SysProcAttr, s.cfg.Nice)
		err := cmd.Start()
		if err == nil {
			err = errors.Join(proc.NotSpared(cmd.Process.Pid), s.cfg.Unseat(cmd.Process.Pid), cmd.Wait())
		}
		result <- err
	}()
	return <-result
}

// users calls f for the folder of each user.
func (s *Store) users(f func(name string, folder *userfiles.Dir, files []fs.FileInfo)) {
	infos, _ := userfiles.ReadDir(s.cfg.Dir) // empty if it can't be read; writing there reports the error
	for _, i := range infos {
		folder, err := userfiles.OpenDir(s.cfg.Dir, i.Name())
		if err != nil {
			continue
		}
		if files, err := folder.List(); err == nil {
			f(i.Name(), folder, files)
		}
		folder.Close()
	}
}

// sweep removes what an earlier process left incomplete.
func (s *Store) sweep() {
	s.users(func(_ string, folder *userfiles.Dir, files []fs.FileInfo) {
		for _, f := range files {
			if !strings.HasPrefix(f.Name(), buildPrefix) && !strings.HasSuffix(f.Name(), newSuffix) {
				continue
			}
			if err := folder.RemoveAll(f.Name()); err != nil {
				s.cfg.Log.WithError(err).Warn("could not remove an incomplete archive of Java classes")
			}
		}
	})
}

// evict removes the least recently used files until the others fit. It spares the files keep of a user.
func (s *Store) evict(user string, keep ...string) {
	type file struct {
		user, name string
		size       int64
		used       time.Time
	}
	var files []file
	var total int64
	s.users(func(user string, _ *userfiles.Dir, infos []fs.FileInfo) {
		for _, i := range infos {
			if !i.Mode().IsRegular() {
				continue
			}
			used := i.ModTime()
			if strings.HasSuffix(i.Name(), ".jar") {
				used = used.AddDate(100, 0, 0) // small files last, because archives need them
			}
			files = append(files, file{user, i.Name(), i.Size(), used})
			total += i.Size()
		}
	})
	slices.SortFunc(files, func(a, b file) int { return a.used.Compare(b.used) })
	for _, f := range files {
		if total <= s.cfg.MaxBytes {
			return
		}
		if f.user == user && slices.Contains(keep, f.name) {
			continue
		}
		if userfiles.Remove(s.cfg.Dir, f.user, f.name) == nil {
			total -= f.size
		}
	}
}
