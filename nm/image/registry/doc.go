// Package registry pulls images from registries with the API of the OCI distribution specification (Docker's version 2), over HTTP or
// HTTPS, by tag or digest, with tokens or passwords.
//
// An administrator names the registries. Users and the makers of images may be hostile: sizes are bounded, and every part is checked
// by its digest. What was found under a name is noted, so that a registry that is away doesn't hinder images that are here.
package registry

import (
	"crypto/x509"
	"fmt"
	"regexp"
	"strings"
)

// Config says which registries a node pulls from.
type Config struct {
	Registries []Registry
	Roots      *x509.CertPool // who is trusted to say who a registry is; nil: whom the machine trusts
	Logins     Logins         // of the node itself, for users that bring none
	Dir        string         // where images that were found are noted; this process's alone
}

// Registry is a place that images may come from.
type Registry struct {
	Host  string // such as registry.example.com:5000
	Plain bool   // it speaks HTTP
}

// Hub is the registry of names that have none.
const Hub = "docker.io"

var host = regexp.MustCompile(`^[a-zA-Z0-9]([a-zA-Z0-9.-]*[a-zA-Z0-9])?(:[0-9]{1,5})?$`)

// ParseRegistries reads heddle.nodemanager.images.registries: hosts, with http:// before those without TLS.
func ParseRegistries(texts []string) (all []Registry, err error) {
	for _, text := range texts {
		r := Registry{Host: strings.TrimSuffix(text, "/")}
		r.Host, r.Plain = strings.CutPrefix(r.Host, "http://")
		if !r.Plain {
			r.Host = strings.TrimPrefix(r.Host, "https://")
		}
		if !host.MatchString(r.Host) {
			return nil, fmt.Errorf("%.200q is no registry: want HOST or HOST:PORT, with http:// before it if the registry has no TLS", text)
		}
		all = append(all, r)
	}
	return all, nil
}
