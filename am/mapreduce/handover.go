package mapreduce

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"heddle/hdfsadapter"
	"heddle/internal/userfiles"
	"heddle/yarn/account"
)

// HDFS takes containers for their submitter. Local files know only whom their processes run as, which may be another. If root
// submits, he gives the staged files to him.

// containerAccount looks up whom containers run as, if root has to care for it: nil if not.
func containerAccount(name string) (*userfiles.User, error) {
	if name == "" || os.Geteuid() != 0 {
		return nil, nil
	}
	a, err := account.System.Lookup(name)
	if err != nil {
		return nil, fmt.Errorf("containers run as %q: %w", name, err)
	}
	if a.UID == 0 {
		return nil, nil // nodes refuse that, and say why
	}
	return &userfiles.User{UID: a.UID, GID: a.GID, Groups: a.Groups}, nil
}

// handOver gives the staged files of a job to whom its containers run as. The folders above stay the submitter's, and can be passed.
func (s *stagingRoot) handOver(ctx context.Context, folder, name string) error {
	at, err := s.Files.Locate(folder)
	if err != nil || at.Scheme != hdfsadapter.SchemeFile {
		return err
	}
	u, err := containerAccount(name)
	if err != nil || u == nil {
		return err
	}
	for _, above := range []string{s.Own, s.Own + "/.staging"} {
		if err := s.Files.Chmod(ctx, above, 0o711); err != nil {
			return err
		}
	}
	return filepath.WalkDir(at.Path, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(path, u.UID, u.GID)
	})
}

// checkOutput tells whether whom containers run as may make a local output folder: they would find out when all is done.
func checkOutput(name string, out hdfsadapter.Location) error {
	if out.Scheme != hdfsadapter.SchemeFile {
		return nil
	}
	u, err := containerAccount(name)
	if err != nil || u == nil {
		return err
	}
	return userfiles.As(u, func() error {
		for dir := filepath.Dir(filepath.Clean(out.Path)); ; dir = filepath.Dir(dir) {
			err := unix.Faccessat(unix.AT_FDCWD, dir, unix.W_OK|unix.X_OK, unix.AT_EACCESS)
			switch {
			case errors.Is(err, unix.ENOENT):
				continue
			case err != nil:
				return fmt.Errorf("containers run as %s, who can't make it in %s (%w): name a folder below one that he may write to, or let him write there", name, dir, err)
			}
			return nil
		}
	})
}
