// Package images runs jobs in images, on clusters of their own: `heddle mr`, and those of Hadoop and Spark.
package images
