package settings

import (
	"crypto/x509"
	"errors"
	"fmt"
	"os"

	"heddle/conf"
	"heddle/internal/bounded"
	"heddle/internal/trust"
	"heddle/nm/image/registry"
)

// maxRoots bounds a file of authorities, in bytes.
const maxRoots = 16 << 20

// registries returns where images are pulled from; nil: nowhere.
func registries(c *conf.Config) (*registry.Config, error) {
	const prefix = "heddle.nodemanager.images."
	all, err := registry.ParseRegistries(c.Strings(prefix + "registries"))
	if err != nil {
		return nil, fmt.Errorf("%sregistries: %w", prefix, err)
	}
	if len(all) == 0 {
		return nil, nil
	}
	cfg := &registry.Config{Registries: all}
	if path := c.Text(prefix + "registry-logins"); path != "" {
		if cfg.Logins, err = logins(path); err != nil {
			return nil, fmt.Errorf("%sregistry-logins: %s: %w", prefix, path, err)
		}
	}
	if path := c.Text(prefix + "registry-ca"); path != "" {
		if cfg.Roots, err = roots(path); err != nil {
			return nil, fmt.Errorf("%sregistry-ca: %s: %w", prefix, path, err)
		}
	}
	return cfg, nil
}

func logins(path string) (l registry.Logins, err error) {
	if err := trust.Check(path); err != nil {
		return l, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return l, err
	}
	if info.Mode().Perm()&0o077 != 0 {
		return l, fmt.Errorf("others may read it (%v): chmod 600 it", info.Mode().Perm())
	}
	text, err := bounded.ReadFile(path, registry.MaxConfig)
	if err != nil {
		return l, err
	}
	return registry.ParseConfig(text)
}

func roots(path string) (*x509.CertPool, error) {
	if err := trust.Check(path); err != nil {
		return nil, err
	}
	text, err := bounded.ReadFile(path, maxRoots)
	if err != nil {
		return nil, err
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool()
	}
	if !pool.AppendCertsFromPEM(text) {
		return nil, errors.New("it has no certificate in PEM")
	}
	return pool, nil
}
