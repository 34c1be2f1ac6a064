// SPDX-License-Identifier: Apache-2.0
//
// Frontal faces and their eyes in a picture, by OpenCV's cascade classifiers (Viola and Jones, "Rapid object detection
// using a boosted cascade of simple features", 2001) with the data that Debian packages. No C++ crosses this header:
// exceptions become messages.
//
// Pixels are four bytes, red, green, blue and one unused; rows run top to bottom without padding.

#ifndef FACES_H
#define FACES_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { FACES_MESSAGE_SIZE = 256 };

// In pixels of the picture.
typedef struct {
    float x, y;   // the middle
    float radius; // of what the detector takes for the eye, with its lids
} faces_eye;

typedef struct {
    float x, y, size;  // the square around the face
    int has_eyes;      // both were found; otherwise they are where a face of this size has them
    faces_eye eyes[2]; // the one on the left of the picture first
} faces_face;

typedef struct faces_finder faces_finder;

// Reads the classifiers' data. NULL: it cannot be read, and `message` says why. A finder is for one thread at a time.
faces_finder *faces_create(char message[FACES_MESSAGE_SIZE]);
void faces_destroy(faces_finder *finder);

// Writes the first `capacity` faces to `faces`, from left to right, and returns their number; the same for the same
// pixels. -1: the library failed, and `message` says why.
int faces_find(faces_finder *finder, const uint8_t *pixels, uint32_t width, uint32_t height,
               faces_face *faces, size_t capacity, char message[FACES_MESSAGE_SIZE]);

#ifdef __cplusplus
}
#endif

#endif
