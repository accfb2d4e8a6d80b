package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"heddle/nm/image/layer"
)

// shrink removes layers that no container holds until there is room for more bytes. Others needn't wait for it: a layer is renamed under
// the lock, and deleted without.
func (s *Store) shrink(more int64) error {
	gone, err := s.takeAway(more)
	for _, dir := range gone {
		err = errors.Join(err, s.remove(dir))
	}
	return err
}

// takeAway takes layers out of the store, and returns the folders to delete.
func (s *Store) takeAway(more int64) (gone []string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	total := more
	var free []string
	for id, l := range s.layers {
		total += l.Bytes
		if l.by == 0 {
			free = append(free, id)
		}
	}
	slices.SortFunc(free, func(a, b string) int { return s.layers[a].used.Compare(s.layers[b].used) })
	for _, id := range free {
		if total <= s.cfg.MaxBytes {
			return gone, nil
		}
		s.removed++
		dir := filepath.Join(s.cfg.Dir, goneDir, strconv.Itoa(s.removed))
		if err := os.Rename(s.layerDir(id), dir); err != nil {
			return gone, err
		}
		gone = append(gone, dir)
		total -= s.layers[id].Bytes
		delete(s.layers, id)
		s.cfg.Log.WithField("layer", id).Info("removed a layer of images that no container uses")
	}
	if total > s.cfg.MaxBytes && more > 0 {
		return gone, fmt.Errorf("%w: with those that containers hold all have more than the %d MB of heddle.nodemanager.images.store-mb", layer.ErrTooLarge, s.cfg.MaxBytes>>20)
	}
	return gone, nil
}
