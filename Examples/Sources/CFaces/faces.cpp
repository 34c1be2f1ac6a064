// SPDX-License-Identifier: Apache-2.0

#include "faces.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <exception>
#include <new>
#include <opencv2/imgproc.hpp>
#include <opencv2/objdetect.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

struct faces_finder {
    cv::CascadeClassifier faces, eyes, eyes_with_glasses;
};

namespace {

// Larger pictures are searched at this size: a face in one is larger, too.
constexpr double searched_side = 900;
// Of the shorter side: smaller faces are noise.
constexpr double smallest_face = 1.0 / 14;
constexpr int face_neighbours = 5;

void set_message(char *message, const char *text) {
    std::snprintf(message, FACES_MESSAGE_SIZE, "%s", text);
}

void load(cv::CascadeClassifier &classifier, const std::string &name) {
    for (const char *folder :
         {"/usr/share/opencv4/haarcascades/", "/opt/homebrew/share/opencv4/haarcascades/"}) {
        if (classifier.load(folder + name)) {
            return;
        }
    }
    throw std::runtime_error("no data for " + name + " (Debian: opencv-data)");
}

struct Eye {
    double x, y, radius; // parts of the face's size
};

// Where faces have their eyes, in parts of the detector's square.
constexpr Eye usual_left{0.31, 0.39, 0.12}, usual_right{0.69, 0.39, 0.12};

double distance(const Eye &one, const Eye &other) {
    return std::hypot(one.x - other.x, one.y - other.y);
}

// The two that look most like a pair: where eyes are, of one size, a face's distance apart.
std::optional<std::pair<Eye, Eye>> pair_of(const std::vector<Eye> &candidates) {
    std::optional<std::pair<Eye, Eye>> best;
    double least = 0.45; // worse is none
    for (const Eye &left : candidates) {
        for (const Eye &right : candidates) {
            double apart = right.x - left.x;
            if (apart < 0.22 || apart > 0.65 || std::abs(right.y - left.y) > 0.6 * apart) {
                continue;
            }
            double unlike = std::abs(std::log(left.radius / right.radius));
            double badness = distance(left, usual_left) + distance(right, usual_right) + 0.2 * unlike;
            if (badness < least) {
                least = badness;
                best = {left, right};
            }
        }
    }
    return best;
}

std::vector<Eye> eyes_in(const cv::Mat &grey, const cv::Rect &face, cv::CascadeClassifier &classifier) {
    // Eyes are in the upper part. Small faces are enlarged: the classifiers know eyes of 20 pixels and more.
    cv::Rect upper(face.x, face.y + face.height / 8, face.width, face.height / 2);
    upper &= cv::Rect(0, 0, grey.cols, grey.rows);
    double scale = std::max(1.0, 200.0 / face.width);
    cv::Mat part;
    cv::resize(grey(upper), part, cv::Size(), scale, scale, cv::INTER_LINEAR);
    double size = face.width * scale;
    std::vector<cv::Rect> found;
    classifier.detectMultiScale(part, found, 1.05, 3, 0, cv::Size(int(size / 8), int(size / 8)),
                                cv::Size(int(size / 2.5), int(size / 2.5)));
    std::vector<Eye> eyes;
    for (const cv::Rect &eye : found) {
        eyes.push_back({(upper.x - face.x + (eye.x + eye.width / 2.0) / scale) / face.width,
                        (upper.y - face.y + (eye.y + eye.height / 2.0) / scale) / face.width,
                        eye.width / 2.0 / scale / face.width});
    }
    return eyes;
}

faces_face described(const cv::Mat &grey, const cv::Rect &square, faces_finder &finder, double scale) {
    auto eyes = pair_of(eyes_in(grey, square, finder.eyes));
    if (!eyes) {
        eyes = pair_of(eyes_in(grey, square, finder.eyes_with_glasses));
    }
    auto placed = [&](const Eye &eye) {
        return faces_eye{float((square.x + eye.x * square.width) * scale),
                         float((square.y + eye.y * square.width) * scale),
                         float(eye.radius * square.width * scale)};
    };
    return {float(square.x * scale),
            float(square.y * scale),
            float(square.width * scale),
            eyes.has_value(),
            {placed(eyes ? eyes->first : usual_left), placed(eyes ? eyes->second : usual_right)}};
}

int find(faces_finder &finder, const uint8_t *pixels, uint32_t width, uint32_t height, faces_face *faces,
         size_t capacity) {
    // OpenCV reads it only.
    cv::Mat picture(int(height), int(width), CV_8UC4, const_cast<uint8_t *>(pixels));
    cv::Mat grey;
    cv::cvtColor(picture, grey, cv::COLOR_RGBA2GRAY);
    double scale = std::max(1.0, std::max(width, height) / searched_side);
    // So narrow that nothing would be left of it: there is no face in it.
    if (std::min(width, height) / scale < 1) {
        return 0;
    }
    if (scale > 1) {
        cv::Mat smaller;
        cv::resize(grey, smaller, cv::Size(), 1 / scale, 1 / scale, cv::INTER_AREA);
        grey = smaller;
    }
    cv::equalizeHist(grey, grey);
    int smallest = std::max(24, int(std::min(grey.cols, grey.rows) * smallest_face));
    std::vector<cv::Rect> squares;
    if (grey.cols >= smallest && grey.rows >= smallest) {
        finder.faces.detectMultiScale(grey, squares, 1.1, face_neighbours, 0, cv::Size(smallest, smallest));
    }
    std::sort(squares.begin(), squares.end(), [](const cv::Rect &one, const cv::Rect &other) {
        return std::pair(one.x, one.y) < std::pair(other.x, other.y);
    });
    size_t count = std::min(capacity, squares.size());
    for (size_t index = 0; index < count; ++index) {
        faces[index] = described(grey, squares[index], finder, scale);
    }
    return int(count);
}

} // namespace

faces_finder *faces_create(char message[FACES_MESSAGE_SIZE]) {
    try {
        // The caller has threads of its own; and one thread finds the same each time.
        cv::setNumThreads(1);
        auto *finder = new faces_finder;
        try {
            load(finder->faces, "haarcascade_frontalface_alt2.xml");
            load(finder->eyes, "haarcascade_eye.xml");
            load(finder->eyes_with_glasses, "haarcascade_eye_tree_eyeglasses.xml");
        } catch (...) {
            delete finder;
            throw;
        }
        return finder;
    } catch (const std::exception &error) {
        set_message(message, error.what());
        return nullptr;
    }
}

void faces_destroy(faces_finder *finder) {
    delete finder;
}

int faces_find(faces_finder *finder, const uint8_t *pixels, uint32_t width, uint32_t height,
               faces_face *faces, size_t capacity, char message[FACES_MESSAGE_SIZE]) {
    try {
        return find(*finder, pixels, width, height, faces, capacity);
    } catch (const std::bad_alloc &) {
        set_message(message, "not enough memory");
        return -1;
    } catch (const std::exception &) {
        // OpenCV's own sentence is about its source.
        std::snprintf(message, FACES_MESSAGE_SIZE, "OpenCV cannot search a picture of %u x %u pixels", width,
                      height);
        return -1;
    }
}
