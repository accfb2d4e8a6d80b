// Package auxservices runs a node's auxiliary services: Heddle's own shuffle in this process, and Java classes in a JVM beside it (nm/javahost).
//
// Without a manifest the services are those of yarn.nodemanager.aux-services, and stay. With one (yarn.nodemanager.aux-services.manifest.enabled) they come, go and are
// replaced while the node runs: by a file, which is read again when it has changed, and by PUT /ws/v1/node/auxiliaryservices. A list replaces the one before: a service whose
// name and version are there already stays untouched, another version is started after the old one has stopped, and one that the list lacks is stopped (Hadoop:
// AuxServices).
package auxservices
