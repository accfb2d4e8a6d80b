package auxservices

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"path"
	"strings"
	"time"

	"heddle/conf"
	"heddle/hdfsadapter"
	"heddle/internal/bounded"
	"heddle/nm/javahost"
)

const manifestKey = "yarn.nodemanager.aux-services.manifest"

// Enabled reports whether services come from a manifest.
func Enabled(c *conf.Config) bool { return c.Bool(manifestKey + ".enabled") }

// Problems says what is wrong with a manifest in a local file, with which a node would have no services, or not start. Others aren't read.
func Problems(c *conf.Config) []conf.Problem {
	name := c.Text(manifestKey)
	if !Enabled(c) || name == "" {
		return nil
	}
	at, err := url.Parse(name)
	if err != nil {
		return []conf.Problem{conf.AtKey(c, conf.Error, manifestKey, err)}
	}
	if fsys := c.Text("fs.defaultFS"); at.Scheme != "file" && (at.Scheme != "" || fsys != "" && !strings.HasPrefix(fsys, "file:")) {
		return nil
	}
	b, err := bounded.ReadFile(at.Path, MaxList)
	if errors.Is(err, fs.ErrNotExist) {
		return []conf.Problem{conf.AtKey(c, conf.Warning, manifestKey, fmt.Errorf("the node starts without auxiliary services: %w", err))}
	}
	var list []Record
	if err == nil {
		list, err = Decode(b)
	}
	names := map[string]bool{}
	for _, r := range list {
		err = errors.Join(err, r.check())
		if names[r.Name] {
			err = errors.Join(err, fmt.Errorf("it has two services %s", r.Name))
		}
		names[r.Name] = true
	}
	if err != nil {
		return []conf.Problem{conf.AtKey(c, conf.Error, manifestKey, fmt.Errorf("the manifest of auxiliary services %s: %w", name, err))}
	}
	return nil
}

// manifest is the file of services.
type manifest struct {
	name   string // "": there is none
	read   int64  // its time of modification when it was read, ms since 1970; -1: it hasn't been
	failed string // what was wrong with it last
}

// maxReading bounds how long reading a manifest may take.
const maxReading = time.Minute

// firstOfManifest returns the services of the manifest: all that Heddle has itself, and all that are Java classes.
func (s *Services) firstOfManifest(ctx context.Context) (own []Record, java []javahost.Service, err error) {
	s.manifest = &manifest{name: s.o.Conf.Text(manifestKey), read: -1}
	if s.manifest.name == "" {
		s.log.Infof("%s.enabled is true, and %[1]s names no file: auxiliary services come by PUT /ws/v1/node/auxiliaryservices", manifestKey)
		return nil, nil, nil
	}
	list, at, err := s.readManifest(ctx)
	var refused *refusedFile
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.As(err, &refused):
		s.manifest.failed = err.Error()
		s.log.Error(err) // as in Hadoop, the node starts without services
		return nil, nil, nil
	case err != nil:
		return nil, nil, fmt.Errorf("the manifest of auxiliary services (%s): %w", manifestKey, err)
	}
	s.manifest.read = at
	for _, r := range list {
		switch err := r.check(); {
		case err != nil:
			return nil, nil, fmt.Errorf("the manifest of auxiliary services %s: %w", s.manifest.name, err)
		case s.records[r.Name].Name != "": // Hadoop keeps the last one of a name
			return nil, nil, fmt.Errorf("the manifest of auxiliary services %s has two services %s", s.manifest.name, r.Name)
		case r.isOwn():
			own = append(own, r)
		default:
			java = append(java, r.java())
		}
		s.records[r.Name] = loaded{Record: r, java: !r.isOwn()}
	}
	return own, java, nil
}

// refusedFile says that a manifest may not be used.
type refusedFile struct{ why string }

func (r *refusedFile) Error() string { return r.why }

// readManifest returns the services of the file, and its time of modification. list is nil if the file is the one that was read before.
func (s *Services) readManifest(ctx context.Context) (list []Record, at int64, err error) {
	ctx, cancel := context.WithTimeout(ctx, maxReading)
	defer cancel()
	name := s.manifest.name
	info, err := s.o.Files.Stat(ctx, name)
	if err != nil {
		return nil, 0, fmt.Errorf("manifest file %s: %w", name, err)
	}
	if err := s.mayUse(ctx, info); err != nil {
		return nil, 0, err
	}
	if info.ModTime == s.manifest.read {
		return nil, info.ModTime, nil
	}
	in, err := s.o.Files.Open(ctx, name)
	if err != nil {
		return nil, info.ModTime, err
	}
	defer in.Close()
	b, err := bounded.ReadAll(in, MaxList)
	if err != nil {
		return nil, info.ModTime, err
	}
	list, err = Decode(b)
	return list, info.ModTime, err
}

// mayUse refuses a manifest that others than administrators can change.
func (s *Services) mayUse(ctx context.Context, info hdfsadapter.Info) error {
	if info.IsDir() {
		return &refusedFile{fmt.Sprintf("the manifest of auxiliary services %s is a directory", s.manifest.name)}
	}
	if !s.o.MayOwn(info.Owner) {
		return &refusedFile{fmt.Sprintf("Manifest must be owned by YARN admin: %s is %s's: name that user in yarn.admin.acl", s.manifest.name, info.Owner)}
	}
	at, err := s.o.Files.Locate(s.manifest.name)
	for err == nil {
		if info.Mode.Perm()&0o022 != 0 {
			return &refusedFile{fmt.Sprintf("Manifest file and parents must not be writable by group or others. The current Permission of %s is %v", at, info.Mode.Perm())}
		}
		if at.Path == "/" {
			return nil
		}
		at.Path = path.Dir(at.Path)
		info, err = s.o.Files.Stat(ctx, at.String())
	}
	return err
}

// watch reads the manifest again and again until Stop.
func (s *Services) watch() {
	interval := s.o.Conf.Duration(manifestKey + ".reload-ms")
	if s.manifest == nil || s.manifest.name == "" || interval <= 0 {
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	s.stop = stop
	s.stopped.Go(func() {
		tick := time.NewTicker(interval)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				s.reload(ctx)
			}
		}
	})
}

// reload applies the manifest if it has changed. Without a file all services end.
func (s *Services) reload(ctx context.Context) {
	s.changing.Lock()
	defer s.changing.Unlock()
	list, at, err := s.readManifest(ctx)
	var refused *refusedFile
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if s.runs() {
			s.log.Infof("manifest file %s doesn't exist, stopping auxiliary services", s.manifest.name)
			err = errors.Join(err, s.apply(ctx, nil))
		}
	case errors.As(err, &refused), at == 0:
	case err == nil && list == nil:
	case err == nil:
		s.log.Infof("reading the manifest of auxiliary services %s", s.manifest.name)
		err = s.apply(ctx, list)
		if javahost.Died(err) && ctx.Err() == nil {
			at = s.manifest.read // the next time again
		}
		fallthrough
	default:
		s.manifest.read = at
	}
	s.complain(ctx, err)
}

// complain logs an error of the manifest once.
func (s *Services) complain(ctx context.Context, err error) {
	text := ""
	if err != nil {
		text = err.Error()
	}
	if text != "" && text != s.manifest.failed && ctx.Err() == nil {
		s.log.Errorf("reloading the manifest of auxiliary services: %s", text)
	}
	s.manifest.failed = text
}
