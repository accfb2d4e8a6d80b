// Package store keeps unpacked layers of images, by the digests of their contents. Containers share them. Layers that no container
// holds are removed when none has held them for long, and, the least recently used first, when all together exceed a limit.
//
// The folder is root's alone: it has files of images with the owners and modes that the images say.
package store

import (
	"time"

	"github.com/sirupsen/logrus"

	"heddle/nm/image/layer"
)

// Config says how much a store may hold.
type Config struct {
	Dir      string
	MaxBytes int64         // of all layers; those that containers hold stay
	MaxAge   time.Duration // how long one stays that no container holds; 0: for ever, while there is room
	Image    layer.Limits  // of the layers of one image together
	Log      *logrus.Entry
}
