package localizer

import (
	"context"
	"io"

	"heddle/hdfsadapter"
)

// OnHDFS returns a source that reads HDFS, and the file systems that Java knows, as the user who asks, and this node's own file systems by local. Locations
// without a scheme are on the default file system.
func OnHDFS(a *hdfsadapter.Adapter, local LocalFiles) Source { return adapted{a, local} }

type adapted struct {
	a     *hdfsadapter.Adapter
	local LocalFiles
}

// isLocal reports whether LocalFiles reads at. Unlike the adapter it respects the user's rights.
func (s adapted) isLocal(at Location) bool {
	if at.Scheme == hdfsadapter.SchemeFile {
		return true // even with a host, which Hadoop ignores
	}
	l, err := s.a.As("").Locate(at.String())
	return err == nil && l.Scheme == hdfsadapter.SchemeFile
}

// onHDFS returns the user for HDFS. An empty one is the NodeManager's own.
func (r Reader) onHDFS() string {
	if r.Public {
		return ""
	}
	return r.User
}

// as returns HDFS as a reader sees it. With Kerberos the user's token reads PUBLIC files as well, as in Hadoop: the NodeManager's account may read
// more than all users may.
func (s adapted) as(by Reader, at Location) *hdfsadapter.FS {
	if s.a.Secure() || at.Scheme != "" && at.Scheme != hdfsadapter.SchemeHDFS && !by.Public {
		return s.a.Bearing(by.User, by.Tokens)
	}
	return s.a.As(by.onHDFS())
}

func adaptedInfo(i hdfsadapter.Info) Info {
	return Info{Name: i.Name, Size: i.Size, ModTime: i.ModTime, Mode: i.Mode}
}

// Stat implements Source.
func (s adapted) Stat(ctx context.Context, by Reader, at Location) (Info, error) {
	if s.isLocal(at) {
		return s.local.Stat(ctx, by, at)
	}
	i, err := s.as(by, at).Stat(ctx, at.String())
	return adaptedInfo(i), err
}

// Open implements Source.
func (s adapted) Open(ctx context.Context, by Reader, at Location) (io.ReadCloser, error) {
	if s.isLocal(at) {
		return s.local.Open(ctx, by, at)
	}
	return s.as(by, at).Open(ctx, at.String())
}

// List implements Source.
func (s adapted) List(ctx context.Context, by Reader, at Location) ([]Info, error) {
	if s.isLocal(at) {
		return s.local.List(ctx, by, at)
	}
	infos, err := s.as(by, at).List(ctx, at.String())
	if err != nil {
		return nil, err
	}
	out := make([]Info, 0, len(infos))
	for _, i := range infos {
		out = append(out, adaptedInfo(i))
	}
	return out, nil
}
