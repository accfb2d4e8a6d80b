package credential

import (
	"errors"
	"fmt"
	"net/url"
	"sync"

	"heddle/conf"
)

// Reader reads a file of a file system that is not this machine's, such as hdfs://nn.example.com/passwords.jceks: at most limit bytes. If it doesn't
// exist, the error is fs.ErrNotExist.
type Reader func(c *conf.Config, file string, limit int64) ([]byte, error)

var remote sync.Map // Reader by scheme

// Register has providers in files of a scheme be read. Packages that read such files call it once, in an init function.
func Register(scheme string, r Reader) { remote.Store(scheme, r) }

// readRemote reads a provider's file: jceks://hdfs@nn.example.com:8020/FILE is in hdfs://nn.example.com:8020/FILE, jceks://hdfs/FILE in the default
// file system of that scheme (Hadoop: ProviderUtils.unnestUri).
func readRemote(c *conf.Config, u *url.URL, limit int64) ([]byte, error) {
	scheme, authority := u.User.Username(), u.Host
	if u.User == nil {
		scheme, authority = u.Host, ""
	}
	r, ok := remote.Load(scheme)
	if !ok {
		return nil, fmt.Errorf("files of %s can't be read: copy the provider to each machine, for the daemon's user alone to read, and name it localjceks://file/PATH", scheme)
	}
	if u.Path == "" {
		return nil, errors.New("it names no file")
	}
	return r.(Reader)(c, scheme+"://"+authority+u.Path, limit)
}
