package localizer

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// LocalFiles is the Source of the scheme file: this node's own file systems.
type LocalFiles struct {
	// Owner gives the user of the operating system whose rights decide what user may read; nil, or a nil result, stands
	// for the NodeManager's own.
	Owner func(user string) (*Owner, error)
}

func (l LocalFiles) owner(user string) (*Owner, error) {
	if l.Owner == nil || user == "" {
		return nil, nil
	}
	return l.Owner(user)
}

// Stat implements Source.
func (l LocalFiles) Stat(_ context.Context, user string, at Location) (Info, error) {
	o, err := l.owner(user)
	if err != nil {
		return Info{}, err
	}
	var info Info
	err = as(o, func() error {
		fi, err := os.Stat(at.Path)
		if err == nil {
			info = localInfo(fi)
		}
		return err
	})
	return info, err
}

// Open implements Source. It refuses what is neither file nor directory: a pipe could be waited for in vain.
func (l LocalFiles) Open(_ context.Context, user string, at Location) (io.ReadCloser, error) {
	o, err := l.owner(user)
	if err != nil {
		return nil, err
	}
	var f *os.File
	err = as(o, func() error {
		f, err = os.OpenFile(at.Path, os.O_RDONLY|unix.O_NONBLOCK, 0)
		return err
	})
	if err != nil {
		return nil, err
	}
	fi, err := f.Stat()
	if err == nil && !fi.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a regular file", at.Path)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// List implements Source.
func (l LocalFiles) List(_ context.Context, user string, at Location) ([]Info, error) {
	o, err := l.owner(user)
	if err != nil {
		return nil, err
	}
	var infos []Info
	err = as(o, func() error {
		entries, err := os.ReadDir(at.Path)
		if err != nil {
			return err
		}
		for _, e := range entries {
			fi, err := os.Stat(at.Child(e.Name()).Path)
			if err != nil {
				return err
			}
			info := localInfo(fi)
			info.Name = e.Name()
			infos = append(infos, info)
		}
		return nil
	})
	return infos, err
}

func localInfo(fi os.FileInfo) Info {
	return Info{
		Name:    fi.Name(),
		Size:    fi.Size(),
		ModTime: fi.ModTime().UnixMilli(),
		Mode:    fi.Mode() & (fs.ModePerm | fs.ModeDir),
	}
}
