// Package token has what proves identities in YARN: tokens in their three serialized forms, the identifiers inside
// them, the master keys that sign them, and the credentials files that carry them to containers.
//
// A token is an identifier (who the bearer is, and which key signed it), a password, a kind and the service that it
// is for. The password is HMAC-SHA1(master key, identifier), so that a server with the key can check a token that
// it has never seen. A server must compute it over the identifier bytes as received, never over a re-encoding.
package token
