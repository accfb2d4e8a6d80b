// Package credential finds the passwords that a configuration needs: in the credential providers that it names, or in its files
// (Hadoop: Configuration.getPassword, CredentialProviderFactory).
package credential

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"heddle/conf"
	"heddle/internal/bounded"
	"heddle/internal/keystore"
)

// PathKey names the providers.
const PathKey = "hadoop.security.credential.provider.path"

const (
	fallbackKey = "hadoop.security.credential.clear-text-fallback"
	fileKey     = "hadoop.security.credstore.java-keystore-provider.password-file"
	variable    = "HADOOP_CREDSTORE_PASSWORD"
	noPassword  = "none" // Hadoop's password of a provider without one of their own
)

// Password returns the value of a key that is a password; ok is false if there is none. A provider's comes first, then that of the files. An
// error says which provider can't be read; Hadoop's daemons go on without its passwords, or stop with an exception of Java's.
func Password(c *conf.Config, key string) (value string, ok bool, err error) {
	for _, p := range conf.ParseList(c.Text(PathKey)) {
		value, ok, err = from(c, p, key)
		switch {
		case err != nil:
			return "", false, conf.ErrorAt(c, PathKey, fmt.Errorf("%s: %s: %w", PathKey, p, err))
		case ok:
			return value, true, nil
		}
	}
	if !c.Bool(fallbackKey) {
		return "", false, nil
	}
	value, ok = c.Get(key)
	return value, ok, nil
}

// from looks a password up in one provider.
func from(c *conf.Config, provider, key string) (string, bool, error) {
	at, err := place(provider)
	if err != nil || at == nil {
		return "", false, err
	}
	password, err := storePassword(c)
	if err != nil {
		return "", false, err
	}
	var data []byte
	if at.Host == "file" {
		data, err = bounded.ReadFile(at.Path, keystore.MaxSize)
	} else {
		data, err = readRemote(c, at, keystore.MaxSize)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", false, nil // Hadoop's would make an empty one
	case errors.Is(err, fs.ErrPermission):
		return "", false, &conf.StartedBy{Err: err}
	case err != nil:
		return "", false, err
	}
	store, err := keystore.Parse(data, password, "")
	if err != nil {
		if errors.Is(err, keystore.ErrPassword) {
			err = fmt.Errorf("%w (its password comes from %s, from the file that %s names, or is %q)", err, variable, fileKey, noPassword)
		}
		return "", false, err
	}
	secret, ok, err := store.Secret(key)
	return string(secret), ok, err
}

// place returns where a provider's file is, or nil for the credentials of a process, of which daemons have none.
func place(provider string) (*url.URL, error) {
	u, err := url.Parse(provider)
	if err != nil {
		return nil, err
	}
	switch {
	case u.Scheme == "user":
		return nil, nil
	case u.Scheme == "localjceks" && u.Host == "file", u.Scheme == "jceks" && u.Host != "":
		return u, nil
	case strings.HasSuffix(u.Scheme, "bcfks"):
		return nil, errors.New("keystores of BouncyCastle can't be read: make one of type jceks (hadoop credential create -provider localjceks://file/PATH)")
	}
	return nil, errors.New("want localjceks://file/PATH, jceks://file/PATH or jceks://hdfs@NAMENODE/PATH")
}

// storePassword returns the password of providers.
func storePassword(c *conf.Config) (string, error) {
	if p, ok := os.LookupEnv(variable); ok {
		return p, nil
	}
	name := c.Text(fileKey)
	if name == "" {
		return noPassword, nil
	}
	if !filepath.IsAbs(name) {
		name = filepath.Join(c.Dir(), name)
	}
	b, err := bounded.ReadFile(name, 1<<10)
	if err != nil {
		err = fmt.Errorf("%s: %w", fileKey, err)
		if errors.Is(err, fs.ErrPermission) {
			err = &conf.StartedBy{Err: err}
		}
		return "", err
	}
	return strings.TrimSpace(string(b)), nil
}
