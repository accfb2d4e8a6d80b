package image

import (
	"context"
	"errors"
	"fmt"

	"heddle/nm/image/files"
	"heddle/nm/image/oci"
	"heddle/nm/image/registry"
	"heddle/nm/image/request"
	"heddle/nm/localizer"
)

// unpacked finds an image, in a folder, or else in the store of a Docker daemon, or else in a registry, and has its layers unpacked until Release.
func (r *Runner) unpacked(ctx context.Context, s Start) (config oci.Config, layers []string, err error) {
	fail := func(err error) (oci.Config, []string, error) {
		return oci.Config{}, nil, fmt.Errorf("image %s: %w", s.Request.Image, err)
	}
	found, err := r.inFolders(ctx, s)
	if r.docker != nil && errors.Is(err, oci.ErrNotFound) {
		there, e := r.docker.Find(ctx, s.Request.Image)
		if found, err = there, e; e != nil && !errors.Is(e, oci.ErrNotFound) {
			return fail(e)
		}
	}
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
	pulled, layers, e := r.pulled(ctx, s)
	switch {
	case errors.Is(e, oci.ErrNotFound) && len(r.cfg.Dirs) > 0:
		return oci.Config{}, nil, fmt.Errorf("%w; nor in a registry: %w", err, e)
	case e != nil:
		return fail(e)
	}
	return pulled.Config, layers, nil
}

// inFolders finds an image in a folder: of images, or of Hadoop's for its runtime runc. oci.ErrNotFound: none has it.
func (r *Runner) inFolders(ctx context.Context, s Start) (*oci.Image, error) {
	found, err := oci.Find(r.cfg.Dirs, s.Request.Image)
	if !errors.Is(err, oci.ErrNotFound) || r.runc == nil || s.Request.Kind != request.Runc {
		return found, err
	}
	found, e := r.runc.Find(ctx, s.Request.Text, s.By)
	switch {
	case errors.Is(e, oci.ErrNotFound) && len(r.cfg.Dirs) > 0:
		return nil, fmt.Errorf("%w; nor in %s: %w", err, r.cfg.Runc.Top, e)
	case e != nil:
		return nil, fmt.Errorf("image %s: %w", s.Request.Text, e)
	}
	return found, nil
}

// pulled pulls an image from a registry.
func (r *Runner) pulled(ctx context.Context, s Start) (registry.Found, []string, error) {
	logins, err := r.logins(ctx, s)
	if err != nil {
		return registry.Found{}, nil, err
	}
	found, layers, err := r.pull(ctx, s, logins, s.Request.Fresh && s.Request.Image.Digest == "")
	if err != nil && found.Noted && ctx.Err() == nil { // the registry has another by that name now, and no longer these layers
		return r.pull(ctx, s, logins, true)
	}
	return found, layers, err
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
	at, err := files.Locate(uri)
	if err != nil {
		return registry.Logins{}, err
	}
	text, err := files.ReadFile(ctx, r.cfg.Source, by, at, registry.MaxConfig)
	if err != nil {
		return registry.Logins{}, err
	}
	return registry.ParseConfig(text)
}
