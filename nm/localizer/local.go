package localizer

import (
	"context"
	"io"
	"io/fs"
	"os"

	"heddle/internal/userfiles"
)

// LocalFiles is the Source of the scheme file: this node's own file systems. It reads files with the rights of the user
// who asks for them, PUBLIC ones included. So neither links nor files exchanged between two looks lead to anything that
// the user can't read. It refuses the kernel's files, below /proc, /sys and /dev.
type LocalFiles struct {
	// Owner returns the operating system's user whose rights decide what user may read. If it is nil, or returns nil,
	// that is the NodeManager's own user.
	Owner func(user string) (*userfiles.User, error)
}

// as calls fn with the file at a location, and with the rights of the reader.
func (l LocalFiles) as(by Reader, at Location, fn func(o *userfiles.User, r *userfiles.Real) error) error {
	var o *userfiles.User
	if l.Owner != nil && by.User != "" {
		var err error
		if o, err = l.Owner(by.User); err != nil {
			return err
		}
	}
	return userfiles.As(o, func() error {
		r, err := userfiles.OpenReal(at.Path)
		if err != nil {
			return err
		}
		defer r.Close()
		return fn(o, r)
	})
}

// Stat implements Source.
func (l LocalFiles) Stat(_ context.Context, by Reader, at Location) (info Info, err error) {
	err = l.as(by, at, func(_ *userfiles.User, r *userfiles.Real) error {
		fi, err := r.Stat()
		if err == nil {
			info = localInfo(at.Name(), fi)
		}
		return err
	})
	return info, err
}

// Open implements Source. It refuses pipes and devices, because reading a pipe could block.
func (l LocalFiles) Open(_ context.Context, by Reader, at Location) (io.ReadCloser, error) {
	var f *os.File
	err := l.as(by, at, func(o *userfiles.User, r *userfiles.Real) (err error) {
		if f, err = r.Open(); err != nil {
			return err
		}
		if o != nil && by.Public {
			if err = checkOpened(at, f, r); err != nil {
				f.Close()
			}
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return f, nil
}

// checkOpened is checkPublic for exactly the opened file, wherever links have led. A file that only the asking user may
// read is not for all.
func checkOpened(at Location, f *os.File, r *userfiles.Real) error {
	fi, err := f.Stat()
	if err != nil {
		return err
	}
	if fi.Mode().Perm()&0o004 == 0 {
		return &NotPublicError{Location: at, Because: at, Mode: fi.Mode().Perm()}
	}
	parents, err := r.Parents()
	if err != nil {
		return err
	}
	dir := at
	dir.Path = f.Name()
	for _, p := range parents {
		dir, _ = dir.Parent()
		if p.Mode().Perm()&0o001 == 0 {
			return &NotPublicError{Location: at, Because: dir, Mode: p.Mode().Perm()}
		}
	}
	return nil
}

// List implements Source.
func (l LocalFiles) List(ctx context.Context, by Reader, at Location) ([]Info, error) {
	var names []string
	err := l.as(by, at, func(_ *userfiles.User, r *userfiles.Real) (err error) {
		names, err = r.List()
		return err
	})
	if err != nil {
		return nil, err
	}
	var infos []Info
	for _, n := range names {
		info, err := l.Stat(ctx, by, at.Child(n))
		if err != nil {
			return nil, err
		}
		infos = append(infos, info)
	}
	return infos, nil
}

func localInfo(name string, fi os.FileInfo) Info {
	return Info{
		Name:    name,
		Size:    fi.Size(),
		ModTime: fi.ModTime().UnixMilli(),
		Mode:    fi.Mode() & (fs.ModePerm | fs.ModeDir),
	}
}
