package jvmarchive

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/sirupsen/logrus"

	"heddle/hdfsadapter/jvm"
	"heddle/internal/trust"
	"heddle/internal/userfiles"
	"heddle/nm/launch"
)

// Config configures a Store. Dir and Log must be set.
type Config struct {
	Dir      string   // folder for the store alone; containers' users must be able to pass through its parents
	Options  []string // further options for every Java program whose command the store understands
	MaxBytes int64    // limit of all files together, in bytes
	MinFree  int64    // free bytes on the disk without which no archive is made
	Timeout  time.Duration
	Nice     int                 // by how much to lower the priority of making archives, 0 to 19
	Unseat   func(pid int) error // puts a process where it doesn't get the CPU before containers do; nil: it doesn't anyway
	Log      *logrus.Entry
}

// Container describes a container to the store, except for its script.
type Container struct {
	ID       string
	App      string
	User     string          // user who submitted the application
	Owner    *userfiles.User // user of its processes; nil: this process's user
	Stage    int32           // priority: containers of an application with different ones load different classes
	Work     string          // work folder
	Locals   []string        // the NodeManager's own folders, in one of which the work folder is
	AppDirs  []string        // folders that are removed with the application, on all disks
	UserDirs []string        // folders of the user's files, on all disks
}

// minVersion is the oldest Java with usable archives.
const minVersion = 17

// recordings is how many containers of a program and stage record the classes that they load.
const recordings = 2

// listName is the file in the work folder for that record, which the JVM writes.
const listName = ".loaded-classes"

// longestPath bounds the length of a class path: the kernel accepts 128 KiB for one variable.
const longestPath = 100_000

// Store keeps archives. It is safe for concurrent use.
type Store struct {
	cfg    Config
	ctx    context.Context
	cancel context.CancelFunc
	work   chan struct{} // wakes the builder
	done   chan struct{}

	mu       sync.Mutex
	programs map[string]*program
	indexes  map[string]*index // by digest of the jars; nil while one is being made, and if that fails
	tasks    []func(context.Context)
}

// program is a main class with a Java and jars, of one user.
type program struct {
	folder   string // the user's folder in the store
	key      string
	app      string        // first application that used it
	again    bool          // another application has used it
	recorded map[int32]int // number of containers that recorded their classes, by stage
	building bool
	failed   time.Time // when making an archive failed
}

// Open opens the store, and starts the builder. Call Close in the end.
func Open(cfg Config) (*Store, error) {
	if !safePath.MatchString(cfg.Dir) {
		return nil, fmt.Errorf("%q can't have archives of Java classes: its name may have only letters, digits and ._+@/-",
			cfg.Dir)
	}
	if err := os.MkdirAll(cfg.Dir, 0o711); err != nil {
		return nil, fmt.Errorf("folder of archives of Java classes: %w", err)
	}
	if err := os.Chmod(cfg.Dir, 0o711); err != nil {
		return nil, fmt.Errorf("folder of archives of Java classes: %w", err)
	}
	if err := trust.Check(cfg.Dir); err != nil {
		return nil, fmt.Errorf("folder of archives of Java classes: %w", err)
	}
	if cfg.Unseat == nil {
		cfg.Unseat = func(int) error { return nil }
	}
	s := &Store{
		cfg: cfg, work: make(chan struct{}, 1), done: make(chan struct{}), programs: make(map[string]*program),
		indexes: make(map[string]*index),
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.sweep()
	go s.build()
	return s, nil
}

// Close stops the builder.
func (s *Store) Close() {
	s.cancel()
	<-s.done
}

// safePath matches paths that need no quotes in a shell, whatever quotes are around them.
var safePath = regexp.MustCompile(`^/[A-Za-z0-9._+@/-]*$`)

// plan has the findings about a container's start that decide on its archive.
type plan struct {
	c       Container
	cmd     command
	java    string // path of the java program
	cp      classPath
	folders folders
	jars    string // digest of the jars
	key     string // key of the program
	prog    *program
	cover   *cover // nil: unknown
}

// Prepare changes a script so that its Java program, if any, starts quickly. If it returns a function, call that when
// the container has ended, before its files are removed.
func (s *Store) Prepare(script *launch.Script, c Container) (ended func()) {
	log := s.cfg.Log.WithField("container", c.ID)
	line := strings.Join(script.Command, " ")
	cmd, ok := parseCommand(line)
	if !ok {
		return nil
	}
	env := environmentOf(script)
	options := s.cfg.Options
	defer func() {
		if len(options) > 0 {
			script.Command = []string{line[:cmd.after] + " " + strings.Join(options, " ") + line[cmd.after:]}
		}
	}()
	p, err := s.plan(script, c, cmd, env)
	if err == nil {
		err = s.look(p)
	}
	if err != nil {
		log.WithError(err).Debug("no archive of Java classes is used")
		if errors.Is(err, errOldJava) {
			options = nil // an old Java may not know them
		}
		return nil
	}
	archive := s.find(p)
	if archive.file != "" {
		path := p.cp.withCover(archive.cover)
		if len(path) > longestPath {
			log.Debug("no archive of Java classes is used: the class path would be too long")
			return nil
		}
		for i, v := range script.Env {
			if v.Name == "CLASSPATH" {
				script.Env = append(append(append([]launch.Var{}, script.Env[:i]...), launch.Var{Name: v.Name, Value: path}),
					script.Env[i+1:]...)
			}
		}
		options = append([]string{"-XX:SharedArchiveFile=" + archive.file, "-Xshare:auto"}, options...)
	}
	if !archive.record {
		return nil
	}
	list := filepath.Join(c.Work, listName)
	if !safePath.MatchString(list) {
		return nil
	}
	options = append([]string{"-XX:DumpLoadedClassList=" + list}, options...)
	return func() { s.ended(p) }
}

// plan interprets a script. It looks at the files that the script names with the rights of the container's user, so
// that users learn nothing about files that they can't see.
func (s *Store) plan(script *launch.Script, c Container, cmd command, env environment) (p *plan, err error) {
	err = userfiles.As(c.Owner, func() error {
		p, err = planAsUser(script, c, cmd, env)
		return err
	})
	if err != nil {
		return nil, err
	}
	p.prog = s.program(c, p.key)
	return p, nil
}

func planAsUser(script *launch.Script, c Container, cmd command, env environment) (*plan, error) {
	p := &plan{c: c, cmd: cmd}
	for _, name := range []string{"JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS"} {
		if !env.knows(name) {
			return nil, fmt.Errorf("%s: %w", name, errNotUnderstood)
		}
		for o := range strings.FieldsSeq(env[name]) {
			if !archivable(o) {
				return nil, fmt.Errorf("%s has %s", name, o)
			}
		}
	}
	java, err := env.expand(cmd.java)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", cmd.java, err)
	}
	if java, err = lookUp(java, env["PATH"]); err != nil {
		return nil, err
	}
	p.java = java
	home := filepath.Dir(filepath.Dir(java))
	if v := jvm.Version(home); v < minVersion {
		return nil, fmt.Errorf("%w: %s is Java %d", errOldJava, home, v)
	}
	path := env["CLASSPATH"]
	if path == "" || !env.knows("CLASSPATH") {
		return nil, fmt.Errorf("class path: %w", errNotUnderstood)
	}
	p.folders = folders{work: c.Work, links: make(map[string]string), app: c.AppDirs, user: c.UserDirs}
	for _, l := range script.Links {
		p.folders.links[filepath.Clean(l.Name)] = l.Target
	}
	if p.cp, err = p.folders.parse(path); err != nil {
		return nil, err
	}
	if n := len(p.cp.jars); n == 0 || n > maxJars {
		return nil, fmt.Errorf("the class path begins with %d jars", n)
	}
	if p.jars, err = digest(p.cp.jars); err != nil {
		return nil, err
	}
	jvm, err := digest([]string{filepath.Join(home, "lib", "server", "libjvm.so")})
	if err != nil {
		return nil, err
	}
	p.key = hash(jvm, p.jars, cmd.main, strings.Join(layout(cmd.options), " "))
	return p, nil
}

var errOldJava = errors.New("archives of classes need a newer Java")

// lookUp finds a command as a shell does, and follows links.
func lookUp(command, path string) (string, error) {
	if !strings.Contains(command, "/") {
		found := ""
		for _, dir := range filepath.SplitList(path) {
			if c := filepath.Join(dir, command); filepath.IsAbs(dir) && executable(c) {
				found = c
				break
			}
		}
		if found == "" {
			return "", fmt.Errorf("%s: %w", command, exec.ErrNotFound)
		}
		command = found
	}
	if !filepath.IsAbs(command) {
		return "", fmt.Errorf("%s: not an absolute path", command)
	}
	return filepath.EvalSymlinks(command)
}

func executable(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.Mode().IsRegular() && st.Mode()&0o111 != 0
}

// digest identifies files as the JVM does: by name, size and modification time.
func digest(files []string) (string, error) {
	h := sha256.New()
	for _, f := range files {
		st, err := os.Stat(f)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(h, "%q %d %d\n", f, st.Size(), st.ModTime().UnixNano())
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

func hash(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(h, "%q\n", p)
	}
	return hex.EncodeToString(h.Sum(nil))[:32]
}

var plainName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._-]*$`)

// program returns the record of a user's program.
func (s *Store) program(c Container, key string) *program {
	name := c.User
	if !plainName.MatchString(name) {
		name = "user-" + hash(name)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	id := name + "/" + key
	p := s.programs[id]
	if p == nil {
		p = &program{folder: name, key: key, app: c.App, recorded: make(map[int32]int)}
		s.programs[id] = p
	}
	p.again = p.again || p.app != c.App
	return p
}

// The names of a program's files.
func (p *program) list() string { return p.key + ".classes" }

func (p *program) archive(cover string) string { return p.key + dash(cover) + ".jsa" }

func (p *program) cover(hash string) string {
	if hash == "" {
		return ""
	}
	return "cover" + dash(hash) + ".jar"
}

func dash(s string) string {
	if s == "" {
		return ""
	}
	return "-" + s
}

// found says what exists for a container.
type found struct {
	file, cover string // names of the archive and of the jar that precedes all others; "": none
	record      bool   // the container should record its classes
}

// look finds the files that hide entries of jars, if the entries are known.
func (s *Store) look(p *plan) error {
	x := s.index(p)
	if x == nil {
		return nil
	}
	return userfiles.As(p.c.Owner, func() (err error) {
		p.cover, err = coverOf(p.cp.dirs, &p.folders, x)
		return err
	})
}

// find finds an archive. If only that is missing, it queues the making of one.
func (s *Store) find(p *plan) (f found) {
	if p.cover != nil {
		archive, cover := p.prog.archive(p.cover.hash()), p.prog.cover(p.cover.hash())
		switch {
		case (cover == "" || s.has(p, cover)) && s.touch(p, archive):
			f.file = filepath.Join(s.cfg.Dir, p.prog.folder, archive)
			if cover != "" {
				f.cover = filepath.Join(s.cfg.Dir, p.prog.folder, cover)
			}
		case s.touch(p, p.prog.list()):
			s.arrange(p, nil)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if f.record = p.prog.recorded[p.c.Stage] < recordings && len(p.prog.recorded) <= 4; f.record {
		p.prog.recorded[p.c.Stage]++
	}
	return f
}

// touch records the use of a program's file. It reports whether the file exists.
func (s *Store) touch(p *plan, name string) bool {
	d, err := userfiles.OpenDir(s.cfg.Dir, p.prog.folder)
	if err != nil {
		return false
	}
	defer d.Close()
	return d.Touch(name, time.Now()) == nil
}

// has reports whether a program's file exists.
func (s *Store) has(p *plan, name string) bool {
	_, err := userfiles.Stat(s.cfg.Dir, p.prog.folder, name)
	return err == nil
}

// index returns the entries of the jars, or nil if they aren't known yet.
func (s *Store) index(p *plan) *index {
	s.mu.Lock()
	x, begun := s.indexes[p.jars]
	if !begun {
		s.indexes[p.jars] = nil
	}
	s.mu.Unlock()
	if begun {
		return x
	}
	jars, owner := p.cp.jars, p.c.Owner
	s.add(func(context.Context) {
		var x *index
		err := userfiles.As(owner, func() (err error) {
			x, err = indexJars(jars)
			return err
		})
		if err != nil {
			s.cfg.Log.WithError(err).Warn("no archives of Java classes are made for a class path")
			return
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.indexes[p.jars] = x
		s.forgetOld(p.jars)
	})
	return nil
}

// maxIndexes and maxPrograms bound the caches of indexes and programs. Forgotten ones are computed again.
const (
	maxIndexes  = 20
	maxPrograms = 1000
)

// forgetOld makes room in the caches, but keeps the index keep. The caller has the lock.
func (s *Store) forgetOld(keep string) {
	for k := range s.indexes {
		if len(s.indexes) <= maxIndexes {
			break
		}
		if k != keep {
			delete(s.indexes, k)
		}
	}
	for k, p := range s.programs {
		if len(s.programs) <= maxPrograms {
			break
		}
		if !p.building {
			delete(s.programs, k)
		}
	}
}

// ended handles the record of a container.
func (s *Store) ended(p *plan) {
	log := s.cfg.Log.WithField("container", p.c.ID)
	classes, err := readList(p)
	if err != nil || len(classes) == 0 {
		log.WithError(err).Debug("could not read which classes a container loads")
		return
	}
	if p.cover == nil {
		if err := s.look(p); err != nil {
			log.WithError(err).Debug("no archive of Java classes is made")
		}
	}
	s.arrange(p, classes)
}

// readList reads which classes a container has recorded.
func readList(p *plan) (classes []string, err error) {
	base, elems, ok := userfiles.Below(p.c.Locals, p.c.Work)
	if !ok {
		return nil, fmt.Errorf("%s is in none of the local folders", p.c.Work)
	}
	f, err := userfiles.Open(base, p.c.Owner.ID(), append(elems, listName)...)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readClasses(f)
}
