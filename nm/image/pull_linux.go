package image

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"

	"heddle/internal/bounded"
	"heddle/nm/image/oci"
	"heddle/nm/image/registry"
	"heddle/nm/localizer"
)

// unpacked finds an image, in a folder or else in a registry, and has its layers unpacked until Release.
func (r *Runner) unpacked(ctx context.Context, s Start) (config oci.Config, layers []string, err error) {
	name := s.Request.Image
	fail := func(err error) (oci.Config, []string, error) {
		return oci.Config{}, nil, fmt.Errorf("image %s: %w", name, err)
	}
	found, err := oci.Find(r.cfg.Dirs, name)
	if err == nil {
		defer found.Close()
		if layers, err = r.store.Hold(ctx, s.ID, found.Layers); err != nil {
			return fail(err)
		}
		return found.Config, layers, nil
	}
	if !errors.Is(err, oci.ErrNotFound) || r.registry == nil {
		return oci.Config{}, nil, err
	}
	logins, e := r.logins(ctx, s)
	if e != nil {
		return fail(e)
	}
	pulled, layers, e := r.pull(ctx, s, logins, s.Request.Fresh && name.Digest == "")
	if e != nil && pulled.Noted && ctx.Err() == nil { // the registry has another by that name now, and no longer these layers
		pulled, layers, e = r.pull(ctx, s, logins, true)
	}
	switch {
	case errors.Is(e, oci.ErrNotFound) && len(r.cfg.Dirs) > 0:
		return oci.Config{}, nil, fmt.Errorf("%w; nor in a registry: %w", err, e)
	case e != nil:
		return fail(e)
	}
	return pulled.Config, layers, nil
}

func (r *Runner) pull(ctx context.Context, s Start, logins registry.Logins, fresh bool) (registry.Found, []string, error) {
	found, err := r.registry.Find(ctx, s.Request.Image, logins, fresh)
	if err != nil {
		return found, nil, err
	}
	layers, err := r.store.Hold(ctx, s.ID, found.Layers)
	return found, layers, err
}

// logins returns a container's logins to registries: of its credentials, and of a file that it names, which is read as its user.
func (r *Runner) logins(ctx context.Context, s Start) (registry.Logins, error) {
	of, err := registry.OfTokens(s.By.Tokens)
	if err != nil {
		return of, fmt.Errorf("logins to registries among the container's credentials: %w", err)
	}
	if s.Request.Logins == "" {
		return of, nil
	}
	logins, err := r.readLogins(ctx, s.By, s.Request.Logins)
	if err != nil {
		return of, fmt.Errorf("logins to registries (CLIENT_CONFIG) in %.200s: %w", s.Request.Logins, err)
	}
	return logins.Over(of), nil
}

func (r *Runner) readLogins(ctx context.Context, by localizer.Reader, uri string) (registry.Logins, error) {
	at, err := locate(uri)
	if err != nil || r.cfg.Source == nil {
		return registry.Logins{}, errors.Join(err, errors.New("it can't be read"))
	}
	in, err := r.cfg.Source.Open(ctx, by, at)
	if err != nil {
		return registry.Logins{}, err
	}
	defer context.AfterFunc(ctx, func() { _ = in.Close() })()
	defer in.Close()
	text, err := bounded.ReadAll(in, registry.MaxConfig)
	if err != nil {
		return registry.Logins{}, err
	}
	return registry.ParseConfig(text)
}

// locate reads a URI. One without a scheme is on the default file system.
func locate(uri string) (at localizer.Location, err error) {
	u, err := url.Parse(uri)
	if err != nil {
		return at, err
	}
	at = localizer.Location{Scheme: u.Scheme, Host: u.Hostname(), Path: u.Path}
	if u.User != nil {
		at.UserInfo = u.User.Username()
	}
	if port := u.Port(); port != "" {
		n, err := strconv.ParseInt(port, 10, 32)
		if err != nil {
			return at, err
		}
		at.Port = int32(n)
	}
	if at.Path == "" || at.Path[0] != '/' {
		return at, errors.New("it is no absolute path")
	}
	return at, nil
}
