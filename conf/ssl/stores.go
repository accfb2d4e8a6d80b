package ssl

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"heddle/conf"
	"heddle/internal/bounded"
	"heddle/internal/keystore"
)

// readable marks errors that another user may not have.
func readable(err error) error {
	if errors.Is(err, fs.ErrPermission) {
		return &conf.StartedBy{Err: err}
	}
	return err
}

// store reads the keystore or the truststore.
func (f *file) store(which, password, keyPassword string) (*keystore.Store, error) {
	key := f.prefix + which + ".location"
	location := f.c.Text(key)
	data, err := bounded.ReadFile(location, keystore.MaxSize)
	if err == nil {
		var s *keystore.Store
		if s, err = keystore.Parse(data, password, keyPassword); err == nil {
			return s, nil
		}
		err = fmt.Errorf("%s: %w", location, err)
	}
	if errors.Is(err, keystore.ErrPassword) {
		err = fmt.Errorf("%w (%s%s.password, %[2]s%[3]s.keypassword)", err, f.prefix, which)
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = &conf.StartedBy{Err: err} // the machines of the cluster may have it, as with keytabs
	}
	return nil, conf.ErrorAt(f.c, key, fmt.Errorf("%s: %w", key, readable(err)))
}

// certificates returns the keys of the keystore with their certificates.
func (f *file) certificates() ([]tls.Certificate, error) {
	password, err := f.password("keystore.password")
	if err != nil {
		return nil, err
	}
	keyPassword, err := f.password("keystore.keypassword")
	if err != nil {
		return nil, err
	}
	if password == "" {
		key := f.prefix + "keystore.password"
		return nil, conf.ErrorAt(f.c, key, fmt.Errorf("%s isn't set: set it in %s, or give it to a credential provider (hadoop credential create %[1]s)", key, f.name))
	}
	s, err := f.store("keystore", password, keyPassword)
	if err != nil {
		return nil, err
	}
	var all []tls.Certificate
	for _, k := range s.Keys {
		if len(k.Chain) == 0 {
			continue
		}
		all = append(all, k.Certificate())
	}
	if len(all) == 0 {
		key := f.prefix + "keystore.location"
		return nil, conf.ErrorAt(f.c, key, fmt.Errorf("%s: %s has no private key with a certificate", key, f.c.Text(key)))
	}
	return all, nil
}

// authorities returns those of the truststore; nil if there is none.
func (f *file) authorities() ([]*x509.Certificate, error) {
	if f.c.Text(f.prefix+"truststore.location") == "" {
		return nil, nil
	}
	password, err := f.password("truststore.password")
	if err != nil {
		return nil, err
	}
	s, err := f.store("truststore", password, "")
	if err != nil {
		return nil, err
	}
	if len(s.Trusted) == 0 {
		key := f.prefix + "truststore.location"
		return nil, conf.ErrorAt(f.c, key, fmt.Errorf("%s: %s has no certificate of an authority", key, f.c.Text(key)))
	}
	return s.Trusted, nil
}

// pool makes a pool of authorities; nil of none.
func pool(all []*x509.Certificate) *x509.CertPool {
	if all == nil {
		return nil
	}
	p := x509.NewCertPool()
	for _, c := range all {
		p.AddCert(c)
	}
	return p
}

// interval is how often files are looked at; 0 is never.
func (f *file) interval() time.Duration {
	if key := f.prefix + "stores.reload.interval"; f.c.IsSet(key) {
		return f.c.Duration(key)
	}
	return f.c.Duration(f.prefix + "truststore.reload.interval")
}
