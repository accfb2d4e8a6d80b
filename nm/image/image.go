// Package image runs containers in images: what a container asks for is judged (request), its image found (oci), the layers unpacked
// once for all (store, layer), and a root prepared for an OCI runtime (bundle), which the node starts like any container's script.
package image

import (
	"github.com/sirupsen/logrus"

	"heddle/internal/userfiles"
	"heddle/nm/gpu"
	"heddle/nm/image/bundle"
	"heddle/nm/image/registry"
	"heddle/nm/image/request"
	"heddle/nm/image/runc"
	"heddle/nm/image/store"
	"heddle/nm/launch"
	"heddle/nm/localizer"
)

// Config says how a node runs images.
type Config struct {
	Settings request.Settings
	Dirs     []string         // where images are: heddle.nodemanager.images.dirs
	Runtime  string           // the OCI runtime's program: heddle.nodemanager.images.runtime
	Registry *registry.Config // where images are pulled from; nil: nowhere
	Docker   string           // socket of a Docker daemon that has images; "": none has
	Runc     *runc.Config     // where images of runtime runc are; nil: nowhere
	Store    store.Config
	Seccomp  map[string]any // profile by kind
	// Source reads files that users and administrators name by URI.
	Source localizer.Source
}

// Open is New with a log and a source of files; nil if cfg is, and then no image is run.
func Open(cfg *Config, log *logrus.Entry, source localizer.Source) (*Runner, error) {
	if cfg == nil {
		return nil, nil
	}
	with := *cfg
	with.Store.Log, with.Source = log, source
	return New(with)
}

// Start is a container that asks for an image.
type Start struct {
	ID      string
	Request *request.Request
	User    *userfiles.User
	Name    string           // of the user
	By      localizer.Reader // reads files for the container
	Private string           // a folder that only the node can enter
	Work    string
	Script  string       // path of the launch script
	Vars    []launch.Var // that the script would set
	Command []string     // that the script would run
	LogDir  string
	Folders []bundle.Folder
	GPUs    []gpu.Device
	Find    func(string) *bundle.Folder // a localized resource by its name
}
