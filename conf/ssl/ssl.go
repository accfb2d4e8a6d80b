// Package ssl has TLS for web ports, the shuffle and web clients, as Hadoop's ssl-server.xml and ssl-client.xml describe it (Hadoop:
// HttpServer2, SSLFactory, FileBasedKeyStoresFactory). Certificates that change on disk are read again without a restart.
package ssl

import (
	"crypto/tls"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/sirupsen/logrus"

	"heddle/conf"
	"heddle/conf/credential"
)

// Keys of these files begin so.
const (
	server = "ssl.server."
	client = "ssl.client."
)

// Keys of all the other files.
const (
	webFile      = "ssl-server.xml" // YARN's daemons ask for no other name
	shuffleFile  = "hadoop.ssl.server.conf"
	clientFile   = "hadoop.ssl.client.conf"
	protocols    = "hadoop.ssl.enabled.protocols"
	showAndAsk   = "hadoop.ssl.require.client.cert"
	verifier     = "hadoop.ssl.hostname.verifier"
	needClient   = server + "need.client.auth"
	policy       = "yarn.http.policy"
	shuffleKey   = "mapreduce.shuffle.ssl.enabled"
	factory      = "hadoop.ssl.keystores.factory.class"
	excluded     = server + "exclude.cipher.list"
	included     = server + "include.cipher.list"
	httpProtocol = "http/1.1"
)

// Scheme is that of the addresses of web ports, http or https.
func Scheme(c *conf.Config) string {
	if conf.HTTPS(c) {
		return "https"
	}
	return "http"
}

// Web returns the TLS of a daemon's web ports, or nil if they have none. Its errors name the key that is wrong. log gets errors of reading
// changed files again; nil drops them.
func Web(c *conf.Config, log *logrus.Entry) (*tls.Config, error) {
	if !conf.HTTPS(c) {
		return nil, nil
	}
	f, err := open(c, webFile, policy)
	if err != nil {
		return nil, err
	}
	return f.server(f.c.Bool(needClient), log)
}

// Shuffle returns the TLS of the shuffle, or nil if it has none.
func Shuffle(c *conf.Config, log *logrus.Entry) (*tls.Config, error) {
	if !c.Bool(shuffleKey) {
		return nil, nil
	}
	f, err := open(c, c.Text(shuffleFile), shuffleKey)
	if err != nil {
		return nil, err
	}
	return f.server(c.Bool(showAndAsk), log)
}

// file is a configuration with the settings of one of the files. What the other files set takes precedence, as for YARN's web ports.
type file struct {
	c      *conf.Config
	name   string
	prefix string
}

func open(c *conf.Config, name, because string) (*file, error) {
	with, err := c.With(name)
	if err != nil {
		return nil, conf.ErrorAt(c, because, fmt.Errorf("%s = %s needs %s in the configuration folder: %w", because, c.Text(because), name, readable(err)))
	}
	for key, value := range c.WithPrefix(server) {
		if c.IsSet(server + key) {
			with.Set(server+key, value)
		}
	}
	if c.Text(factory) != "org.apache.hadoop.security.ssl.FileBasedKeyStoresFactory" {
		return nil, conf.ErrorAt(c, factory, errors.New("certificates come from the files of "+name+" alone"))
	}
	return &file{c: with, name: name, prefix: server}, nil
}

// server returns TLS that shows the file's certificate. It asks clients for theirs if need is set.
func (f *file) server(need bool, log *logrus.Entry) (*tls.Config, error) {
	base, err := f.base()
	if err != nil {
		return nil, err
	}
	location := f.c.Text(f.prefix + "keystore.location")
	if location == "" {
		return nil, conf.ErrorAt(f.c, f.prefix+"keystore.location", fmt.Errorf("%skeystore.location isn't set in %s: set it to the file with the key and certificate of this machine", f.prefix, f.name))
	}
	own := &reloading{read: func() (*tls.Config, error) { return f.load(base, need) }, every: f.interval(), log: log}
	own.files = append(own.files, location)
	if t := f.c.Text(f.prefix + "truststore.location"); t != "" && need {
		own.files = append(own.files, t)
	}
	if err := own.first(); err != nil {
		return nil, err
	}
	return &tls.Config{
		MinVersion: base.MinVersion, MaxVersion: base.MaxVersion, NextProtos: base.NextProtos,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return own.current(), nil },
	}, nil
}

// load reads keystore and truststore.
func (f *file) load(base *tls.Config, need bool) (*tls.Config, error) {
	t := base.Clone()
	var err error
	if t.Certificates, err = f.certificates(); err != nil {
		return nil, err
	}
	if !need {
		return t, nil
	}
	t.ClientAuth = tls.RequireAndVerifyClientCert
	all, err := f.authorities()
	if err != nil {
		return nil, err
	}
	if t.ClientCAs = pool(all); t.ClientCAs == nil {
		return nil, conf.ErrorAt(f.c, f.prefix+"truststore.location", fmt.Errorf("clients must have certificates, and %struststore.location isn't set in %s: set it to the file with the authorities that sign them", f.prefix, f.name))
	}
	return t, nil
}

// base returns versions and ciphers.
func (f *file) base() (*tls.Config, error) {
	t := &tls.Config{NextProtos: []string{httpProtocol}}
	var err error
	if t.MinVersion, t.MaxVersion, err = versions(f.c); err != nil {
		return nil, err
	}
	out, in := f.c.Strings(excluded), f.c.Strings(included)
	if len(out) == 0 && len(in) == 0 {
		return t, nil
	}
	taken := func(name string) bool {
		return !slices.Contains(out, name) && (len(in) == 0 || slices.Contains(in, name))
	}
	for _, s := range tls.CipherSuites() {
		newest := slices.Equal(s.SupportedVersions, []uint16{tls.VersionTLS13})
		switch {
		case newest && !taken(s.Name):
			t.MaxVersion = tls.VersionTLS12 // Go's suites of TLS 1.3 can't be chosen
		case !newest && taken(s.Name):
			t.CipherSuites = append(t.CipherSuites, s.ID)
		}
	}
	if len(t.CipherSuites) == 0 && t.MaxVersion == tls.VersionTLS12 || t.MinVersion > t.MaxVersion {
		return nil, conf.ErrorAt(f.c, excluded, fmt.Errorf("%s and %s leave no cipher suite of those that Heddle has (%s)", excluded, included, names()))
	}
	if len(t.CipherSuites) == 0 {
		t.MinVersion = tls.VersionTLS13
	}
	return t, nil
}

func names() string {
	var all []string
	for _, s := range tls.CipherSuites() {
		all = append(all, s.Name)
	}
	return strings.Join(all, ", ")
}

// versions reads hadoop.ssl.enabled.protocols. Its default means TLS 1.2 and what is newer, as for Hadoop's web ports; older versions are left
// out, as by JDK 17.
func versions(c *conf.Config) (low, high uint16, err error) {
	asked := c.Strings(protocols)
	if !c.IsSet(protocols) || slices.Equal(asked, []string{"TLSv1.2"}) {
		return tls.VersionTLS12, tls.VersionTLS13, nil
	}
	if slices.Contains(asked, "TLSv1.3") {
		low, high = tls.VersionTLS13, tls.VersionTLS13
	}
	if slices.Contains(asked, "TLSv1.2") {
		low, high = tls.VersionTLS12, max(high, tls.VersionTLS12)
	}
	if low == 0 {
		return 0, 0, conf.ErrorAt(c, protocols, errors.New("has neither TLSv1.2 nor TLSv1.3, and older versions aren't safe: name one of these"))
	}
	return low, high, nil
}

// password returns one of the file's passwords.
func (f *file) password(key string) (string, error) {
	p, _, err := credential.Password(f.c, f.prefix+key)
	return p, err
}
