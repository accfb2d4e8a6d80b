package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

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
		if total <= s.cfg.MaxBytes && !s.old(s.layers[id]) {
			break // as are those after it
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

// old reports whether a layer that no container holds has not been used for long.
func (s *Store) old(l *held) bool { return s.cfg.MaxAge > 0 && s.now().Sub(l.used) > s.cfg.MaxAge }

// noteUse keeps for the next process when layers were used, as the times of their folders. The lock is held.
func (s *Store) noteUse(ids []string) {
	if s.cfg.MaxAge == 0 {
		return
	}
	for _, id := range ids {
		if l := s.layers[id]; l != nil {
			if err := os.Chtimes(s.layerDir(id), l.used, l.used); err != nil {
				s.cfg.Log.WithError(err).Warn("could not note when a layer of an image was used")
			}
		}
	}
}

// watch removes old layers until ctx ends. It looks often enough that none stays for an eighth longer than it may.
func (s *Store) watch(ctx context.Context) {
	tick := time.NewTicker(max(time.Second, s.cfg.MaxAge/8))
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if err := s.shrink(0); err != nil {
				s.cfg.Log.WithError(err).Warn("could not remove layers of images")
			}
		}
	}
}
