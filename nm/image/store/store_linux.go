package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"heddle/internal/bounded"
	"heddle/internal/within"
	"heddle/nm/image/layer"
	"heddle/nm/image/oci"
	"heddle/nm/proc"
)

// Names in the folder, and of what a layer has.
const (
	layersDir, holdersDir, newDir, goneDir, fetchedDir, namesDir = "layers", "holders", "new", "gone", "fetched", "names"

	content, sizeFile = "content", "size"
)

// Store is a folder of layers. It is safe for concurrent use by one process.
type Store struct {
	cfg  Config
	lock *os.File
	turn chan struct{} // one layer is unpacked at a time: disks are slower than processors

	boot     string // of this run of the machine
	settling sync.WaitGroup

	stop     context.CancelFunc // of what removes old layers
	watching sync.WaitGroup
	now      func() time.Time
	remove   func(dir string) error // os.RemoveAll
	fetching fetching

	mu      sync.Mutex
	layers  map[string]*held // by diff id
	holders map[string][]string
	removed int // layers that this process has taken out
}

// held is a layer that is there.
type held struct {
	noted
	used time.Time
	by   int // containers
}

// noted is the content of the file of a layer's size. The file is there if the whole layer is.
type noted struct {
	layer.Size
	// Boot is the run of the machine in which the layer was unpacked, until it is known to be on the disk: a power cut would leave it with empty files.
	Boot string `json:"boot,omitempty"`
}

// Open opens the store, and removes what was being unpacked when an earlier process ended. Call Keep once it is known which containers are
// still there.
func Open(cfg Config) (*Store, error) {
	s := &Store{
		cfg: cfg, turn: make(chan struct{}, 1), layers: map[string]*held{}, holders: map[string][]string{},
		remove: os.RemoveAll, now: time.Now, stop: func() {},
	}
	s.fetching = fetching{turns: map[string]*turn{}, bytes: map[string]int64{}, users: map[string]int{}}
	for _, dir := range []string{"", layersDir, holdersDir, goneDir, fetchedDir} {
		if err := os.MkdirAll(filepath.Join(cfg.Dir, dir), 0o700); err != nil {
			return nil, err
		}
	}
	if err := own(cfg.Dir); err != nil {
		return nil, err
	}
	var err error
	if s.boot, err = proc.BootID(); err != nil {
		return nil, err
	}
	if s.lock, err = os.OpenFile(filepath.Join(cfg.Dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600); err != nil {
		return nil, err
	}
	if err = unix.Flock(int(s.lock.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		err = fmt.Errorf("%s is another NodeManager's: give each its own heddle.nodemanager.images.store: %w", cfg.Dir, err)
	} else {
		err = errors.Join(os.RemoveAll(filepath.Join(cfg.Dir, newDir)), s.clear(goneDir), s.clear(fetchedDir),
			s.readLayers(), s.readHolders())
	}
	if err != nil {
		s.Close()
		return nil, err
	}
	if cfg.MaxAge > 0 {
		var ctx context.Context
		ctx, s.stop = context.WithCancel(context.Background())
		s.watching.Go(func() { s.watch(ctx) })
	}
	return s, nil
}

// clear empties a folder of what an earlier process was about.
func (s *Store) clear(dir string) error {
	path := filepath.Join(s.cfg.Dir, dir)
	if err := os.RemoveAll(path); err != nil {
		return err
	}
	return os.Mkdir(path, 0o700)
}

// own refuses a folder that others can write to.
func own(dir string) error {
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	if st, ok := info.Sys().(*syscall.Stat_t); ok && st.Uid != uint32(os.Geteuid()) {
		return fmt.Errorf("%s belongs to uid %d", dir, st.Uid)
	}
	return os.Chmod(dir, 0o700)
}

// patience is how long Close waits for the disk.
const patience = 5 * time.Second

// Close lets another process use the store.
func (s *Store) Close() {
	s.stop()
	s.watching.Wait()
	within.Wait(&s.settling, patience)
	s.lock.Close()
}

func (s *Store) layerDir(id string) string { return filepath.Join(s.cfg.Dir, layersDir, id) }

func (s *Store) readLayers() error {
	entries, err := os.ReadDir(filepath.Join(s.cfg.Dir, layersDir))
	if err != nil {
		return err
	}
	for _, e := range entries {
		dir := s.layerDir(e.Name())
		var h held
		text, err := bounded.ReadFile(filepath.Join(dir, sizeFile), 1<<10)
		if err == nil {
			err = json.Unmarshal(text, &h.noted)
		}
		if err == nil && h.Boot != "" && h.Boot != s.boot {
			err = errors.New("the machine has ended before it was on the disk")
		}
		if err != nil {
			if err := os.RemoveAll(dir); err != nil { // its removal had begun
				return err
			}
			continue
		}
		if info, err := e.Info(); err == nil {
			h.used = info.ModTime()
		}
		s.layers[e.Name()] = &h
	}
	return nil
}

func (s *Store) readHolders() error {
	entries, err := os.ReadDir(filepath.Join(s.cfg.Dir, holdersDir))
	if err != nil {
		return err
	}
	for _, e := range entries {
		var ids []string
		text, err := bounded.ReadFile(filepath.Join(s.cfg.Dir, holdersDir, e.Name()), 1<<20)
		if err == nil {
			err = json.Unmarshal(text, &ids)
		}
		if err != nil { // it wasn't written whole: its container never began
			ids = nil
		}
		s.enter(e.Name(), ids)
	}
	return nil
}

// Keep releases what containers hold that aren't there any more.
func (s *Store) Keep(known func(holder string) bool) {
	s.mu.Lock()
	var gone []string
	for holder := range s.holders {
		if !known(holder) {
			gone = append(gone, holder)
		}
	}
	s.mu.Unlock()
	for _, holder := range gone {
		s.Release(holder)
	}
}

// Hold unpacks the layers that are missing, and keeps all until Release. It returns their folders in the order of the layers. The
// folders hold after a restart of the process, too.
func (s *Store) Hold(ctx context.Context, holder string, layers []oci.Layer) (dirs []string, err error) {
	var ids []string
	for _, l := range layers {
		ids = append(ids, l.DiffID)
		dirs = append(dirs, filepath.Join(s.layerDir(l.DiffID), content))
	}
	if err := s.note(holder, ids); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			s.Release(holder)
		}
	}()
	s.fetching.use(layers)
	defer s.forget(layers)
	if err := s.fetch(ctx, layers); err != nil {
		return nil, err
	}
	left := s.cfg.Image
	for n, l := range layers {
		size, err := s.need(ctx, l, left)
		if err != nil {
			return nil, fmt.Errorf("layer %d of %d: %w", n+1, len(layers), err)
		}
		left.Bytes -= size.Bytes
		left.Entries -= size.Entries
		if left.Bytes < 0 || left.Entries < 0 {
			return nil, fmt.Errorf("%w: the image has more than %d bytes or %d entries", layer.ErrTooLarge, s.cfg.Image.Bytes,
				s.cfg.Image.Entries)
		}
	}
	return dirs, nil
}

// note records which layers a container holds, whether they are there or not.
func (s *Store) note(holder string, ids []string) error {
	text, err := json.Marshal(ids)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(s.cfg.Dir, holdersDir, holder), text, 0o600); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.leave(holder)
	s.enter(holder, ids)
	return nil
}

// enter counts a holder; during Open, or with the lock.
func (s *Store) enter(holder string, ids []string) {
	s.holders[holder] = ids
	for _, id := range ids {
		if l := s.layers[id]; l != nil {
			l.by++
			l.used = s.now()
		}
	}
}

// leave takes a holder out. The lock is held.
func (s *Store) leave(holder string) {
	for _, id := range s.holders[holder] {
		if l := s.layers[id]; l != nil {
			l.by--
			l.used = s.now()
		}
	}
	delete(s.holders, holder)
}

// Release says that a container has no use for its layers any more.
func (s *Store) Release(holder string) {
	s.mu.Lock()
	ids, held := s.holders[holder]
	s.leave(holder)
	s.noteUse(ids)
	s.mu.Unlock()
	if !held {
		return
	}
	if err := os.Remove(filepath.Join(s.cfg.Dir, holdersDir, holder)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		s.cfg.Log.WithError(err).Warn("could not note that a container's layers are free")
	}
	if err := s.shrink(0); err != nil {
		s.cfg.Log.WithError(err).Warn("could not remove layers of images")
	}
}

// need unpacks a layer that isn't there.
func (s *Store) need(ctx context.Context, l oci.Layer, left layer.Limits) (layer.Size, error) {
	if size, ok := s.has(l.DiffID); ok {
		return size, nil
	}
	if l.Fetch != nil {
		unlock, err := s.fetching.lock(ctx, l.Digest)
		if err != nil {
			return layer.Size{}, err
		}
		defer unlock()
		if l, err = s.local(ctx, l); err != nil {
			return layer.Size{}, err
		}
	}
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return layer.Size{}, ctx.Err()
	}
	if size, ok := s.has(l.DiffID); ok { // another container has waited for it, too
		return size, nil
	}
	return s.unpack(ctx, l, left)
}

func (s *Store) has(id string) (layer.Size, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l := s.layers[id]; l != nil {
		return l.Size, true
	}
	return layer.Size{}, false
}

// unpack makes a layer under another name, and renames it when it is on the disk as a whole.
func (s *Store) unpack(ctx context.Context, l oci.Layer, left layer.Limits) (size layer.Size, err error) {
	fresh := filepath.Join(s.cfg.Dir, newDir)
	defer os.RemoveAll(fresh)
	if err := os.RemoveAll(fresh); err != nil {
		return size, err
	}
	if err := os.MkdirAll(filepath.Join(fresh, content), 0o755); err != nil {
		return size, err
	}
	if err := os.Chmod(filepath.Join(fresh, content), 0o755); err != nil {
		return size, err
	}
	room, err := s.room()
	if err != nil {
		return size, err
	}
	left.Bytes = min(left.Bytes, room)
	if size, err = extract(ctx, l, filepath.Join(fresh, content), left); err != nil {
		return size, err
	}
	if err := s.shrink(size.Bytes); err != nil {
		return size, err
	}
	n := noted{size, s.boot}
	if err := n.write(fresh); err != nil {
		return size, err
	}
	return size, s.enterLayer(fresh, l.DiffID, n)
}

// extract unpacks a layer into an empty folder.
func extract(ctx context.Context, l oci.Layer, dir string, left layer.Limits) (layer.Size, error) {
	in, err := l.Open()
	if err != nil {
		return layer.Size{}, err
	}
	defer in.Close()
	if file, ok := in.(*os.File); ok && l.Squashfs {
		return layer.UnpackSquashfs(ctx, file, dir, left)
	}
	return layer.Unpack(ctx, in, dir, l.DiffID, l.Digest, left)
}

// write writes the file of a layer's size as a whole.
func (n noted) write(dir string) error {
	text, err := json.Marshal(n)
	if err != nil {
		return err
	}
	path := filepath.Join(dir, sizeFile)
	if err := os.WriteFile(path+".new", text, 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// room returns how many bytes a further layer may have, with those removed that no container holds.
func (s *Store) room() (int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	room := s.cfg.MaxBytes
	for _, l := range s.layers {
		if l.by > 0 {
			room -= l.Bytes
		}
	}
	if room <= 0 {
		return 0, fmt.Errorf("containers hold all of the %d MB that heddle.nodemanager.images.store-mb allows",
			s.cfg.MaxBytes>>20)
	}
	return room, nil
}

// enterLayer gives a new layer its name.
func (s *Store) enterLayer(fresh, id string, n noted) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := os.RemoveAll(s.layerDir(id)); err != nil {
		return err
	}
	if err := os.Rename(fresh, s.layerDir(id)); err != nil {
		return err
	}
	l := &held{noted: n, used: s.now()}
	for _, ids := range s.holders {
		l.by += count(ids, id)
	}
	s.layers[id] = l
	s.settling.Go(func() { s.settle(id, l) })
	return nil
}

// settle waits, while containers use a layer, until it is on the disk, and notes that down. The disk may be busy for long.
func (s *Store) settle(id string, l *held) {
	at, err := os.Open(s.layerDir(id))
	if err == nil {
		err = unix.Syncfs(int(at.Fd()))
		at.Close()
	}
	if err != nil {
		return // it is unpacked again after the next start of the machine
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.layers[id] != l { // it was removed
		return
	}
	l.Boot = ""
	if err := l.write(s.layerDir(id)); err != nil {
		s.cfg.Log.WithError(err).Warn("could not note that a layer of an image is on the disk")
	}
}

func count(ids []string, id string) (n int) {
	for _, i := range ids {
		if i == id {
			n++
		}
	}
	return n
}

// Names returns a folder for what images have which layers.
func (s *Store) Names() string { return filepath.Join(s.cfg.Dir, namesDir) }

// Fetched returns a folder for files that are needed for a moment. It is emptied when the store is opened.
func (s *Store) Fetched() string { return filepath.Join(s.cfg.Dir, fetchedDir) }

// Size returns how many layers there are, and their bytes.
func (s *Store) Size() (layers int, bytes int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.layers {
		bytes += l.Bytes
	}
	return len(s.layers), bytes
}
