// Package provider reads credential providers in HDFS, for programs that import it.
package provider

import (
	"context"
	"time"

	"heddle/conf"
	"heddle/conf/credential"
	"heddle/conf/secure"
	"heddle/hdfsadapter"
	"heddle/internal/bounded"
)

func init() { credential.Register(hdfsadapter.SchemeHDFS, read) }

// patience is how long a credential provider in HDFS is waited for.
const patience = 30 * time.Second

// read reads a credential provider in HDFS. With Kerberos this process needs an account before it serves anything: a daemon's, whose keytab it
// can read, or that of kinit.
func read(c *conf.Config, file string, limit int64) ([]byte, error) {
	o := hdfsadapter.Options{Retry: patience}
	if secure.On(c) {
		if account := daemonAccount(c); account != nil {
			o.Login = func() (hdfsadapter.Login, error) { return account.Login() }
		}
	}
	a, err := hdfsadapter.New(c, o)
	if err != nil {
		return nil, err
	}
	defer func() { _ = a.Close() }()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	r, err := a.As("").Open(ctx, file)
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.Close() }()
	return bounded.ReadAll(r, limit)
}

// daemonAccount returns the account of a daemon whose keytab this process can read; nil if there is none.
func daemonAccount(c *conf.Config) *secure.Account {
	if id, err := c.OwnRMID(context.Background(), ""); err == nil {
		if a, err := secure.ResourceManager(c, id); err == nil {
			return a
		}
	}
	if a, err := secure.NodeManager(c); err == nil {
		return a
	}
	return nil
}
