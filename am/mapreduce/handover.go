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

// HDFS takes containers for their submitter. Local files know only the user of their processes, who may be another. If root
// submits, the staged files are given to that user.

// containerAccount looks up the user that containers run as, if root must care for it: nil if not.
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

// handOver gives the staged files of a job to the user that its containers run as. The folders above stay the submitter's, and can be passed.
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

// checkOutput checks that the user of containers may make a local output folder: otherwise they would fail when all is done.
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
				return fmt.Errorf("containers run as %s, which can't create the output in %s (%w): choose another folder or grant that user write permission", name, dir, err)
			}
			return nil
		}
	})
}
